"""Variables in the text of compose files and of manifests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.shell_tokens import Tokens
from eaglecfg.review.imports.text import Text, joined, not_known, spelled

_COMPOSE = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<operator>:?[-?+])|(?=\})))"
)
DEEPEST = 20
"""Defaults inside defaults."""

LONGEST_DEFAULT = 4096
"""Characters of a default."""

MOST_TEXT = 1_000_000
"""Characters that variables may put into one text; nested ones grow without end."""

_OF_A_SERVICE = re.compile(r"[A-Z0-9_]+_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_\w+)?)")
_KUBERNETES = re.compile(r"\$(?:\((?P<name>[^)]{0,255})\)|(?P<other>.))", re.S)


def compose(text: str) -> tuple[Text, dict[str, str]]:
    """``text`` as Compose takes it, and the defaults that stood in for variables of its environment."""
    pieces, defaults = _pieces(text)
    return joined([not_known(name) if name else Text(known) for known, name in pieces]), defaults


def compose_words(text: str, line: int) -> tuple[list[Text], dict[str, str]]:
    """A command that is one text: Compose puts variables in, and then splits it as a shell would, no more.

    Raises UsageError, with the line, for a quote that is never closed.
    """
    pieces, defaults = _pieces(text)
    # What is put in must mean nothing to the splitting.
    names = [name for _, name in pieces]
    marked = "".join(
        f"{_OPEN}{index}{_CLOSE}" if name else known.replace("$", _DOLLAR)
        for index, (known, name) in enumerate(pieces)
    )
    words = []
    for token in Tokens(marked, line).read():
        word = token.operator or "".join(part.text for part in token.parts)
        if word != "\n":
            words.append(_unmarked(word, names))
    return words, defaults


_OPEN, _CLOSE, _DOLLAR = "\ue000", "\ue001", "\ue002"


def _unmarked(word: str, names: Sequence[str]) -> Text:
    parts = re.split(f"{_OPEN}([0-9]+){_CLOSE}", word)
    return joined(
        [
            not_known(names[int(part)]) if index % 2 else Text(part.replace(_DOLLAR, "$"))
            for index, part in enumerate(parts)
        ]
    )


def _pieces(text: str, depth: int = 0) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """(text, "") for what is known and ("", name) for a variable, and the defaults that stood in."""
    out: list[tuple[str, str]] = []
    at = 0
    defaults: dict[str, str] = {}
    while (found := _COMPOSE.search(text, at)) is not None:
        out.append((text[at : found.start()], ""))
        name, operator, at = found["name"] or found["braced"], found["operator"] or "", found.end()
        if found["braced"]:
            end = _closing(text, at)
            if end < 0 or depth > DEEPEST:
                out.append((found[0], ""))
                continue
            word, at = text[at:end], end + 1
        if found["dollar"]:
            out.append(("$", ""))
        elif operator.endswith("-"):
            inner, others = _pieces(word, depth + 1)
            defaults[name] = "".join(f"${{{other}}}" if other else known for known, other in inner)
            defaults |= others
            out += inner if defaults[name] else [("", name)]
        elif operator.endswith("+"):
            out.append(("", f"{name}{operator}{word}"))
        else:
            out.append(("", name))
    return [*out, (text[at:], "")], defaults


def _closing(text: str, at: int) -> int:
    """Where the bracket that is open at ``at`` closes, -1 where it never does."""
    depth, end = 1, min(len(text), at + LONGEST_DEFAULT)
    while at < end and depth <= DEEPEST:
        if text.startswith("${", at):
            depth, at = depth + 1, at + 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1


def kubernetes(text: str, known: Mapping[str, Text], *, more: bool = False) -> Text:
    """``text`` as the kubelet takes it: ``$(NAME)`` where the container has that variable, ``$$`` a dollar.

    ``more``: it has variables that are not known here. Those of the cluster's services it may have anyway.

    After k8s.io/kubernetes third_party/forked/golang/expansion/expand.go.
    """
    out, at, size = [], 0, 0
    for found in _KUBERNETES.finditer(text):
        out.append(Text(text[at : found.start()]))
        at = found.end()
        if found["name"] is not None:
            name = found["name"]
            outside = name.isidentifier() and (more or _OF_A_SERVICE.fullmatch(name))
            value = known.get(name, spelled(found[0]) if outside else Text(found[0]))
            size += len(value.text)
            if size > MOST_TEXT:
                raise UsageError(f"$({found['name']}) and the like grow beyond {MOST_TEXT:,} characters")
            out.append(value)
        else:
            out.append(Text("$" if found["other"] == "$" else found[0]))
    return joined([*out, Text(text[at:])])
