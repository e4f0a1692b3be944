"""Variables in the text of compose files and of manifests."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eaglecfg.review.imports.text import EMPTY, Text, not_known

_COMPOSE = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<operator>:?[-?+])(?P<word>[^{}]*))?\})"
)
_KUBERNETES = re.compile(r"\$(?:\((?P<name>[^)]*)\)|(?P<other>.))", re.S)


def compose(text: str) -> tuple[Text, dict[str, str]]:
    """``text`` as Compose takes it, and the defaults that stood in for variables of its environment."""
    out, at, defaults = EMPTY, 0, {}
    for found in _COMPOSE.finditer(text):
        out, at = out + Text(text[at : found.start()]), found.end()
        name, operator = found["name"] or found["braced"], found["operator"] or ""
        if found["dollar"]:
            out = out + Text("$")
        elif operator.endswith("-"):
            defaults[name] = found["word"]
            out = out + Text(found["word"])
        elif not operator.endswith("+"):
            out = out + not_known(name)
    return out + Text(text[at:]), defaults


def kubernetes(text: str, known: Mapping[str, Text]) -> Text:
    """``text`` as the kubelet takes it: ``$(NAME)`` where the container has that variable, ``$$`` a dollar.

    After k8s.io/kubernetes third_party/forked/golang/expansion/expand.go.
    """
    out, at = EMPTY, 0
    for found in _KUBERNETES.finditer(text):
        out, at = out + Text(text[at : found.start()]), found.end()
        if found["name"] is not None:
            value = known.get(found["name"])
            out = out + (value if value is not None else Text(found[0]))
        else:
            out = out + Text("$" if found["other"] == "$" else found[0])
    return out + Text(text[at:])
