"""Values that somebody has still to fill in: no launch can be made of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from eaglecfg.engines.arguments import arguments
from eaglecfg.engines.blocks import loaded_in_blocks
from eaglecfg.engines.command import environment_name, handed_on
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.review.placing import ALGORITHM, DRAFT, MODEL, places
from eaglecfg.review.secrets import variable_of
from eaglecfg.schema.loaded import LoadedDeployment
from eaglecfg.source.references import Reference, reference_in
from eaglecfg.source.secrets import is_secret_name, redact_text
from eaglecfg.source.span import KeyPath, show_path

RULE = "EC640"
"""Finds the same values, in the blocks where letters like these can be meant."""

_NEEDED = (MODEL, DRAFT, ALGORITHM)
_IN_PATH = re.compile(r"\$[A-Za-z_]\w*|<[A-Za-z][A-Za-z0-9 ._-]*>")
"""What no checkpoint has in its name, though other values may."""


def unresolved(
    deployment: LoadedDeployment, facts: EngineFacts | None, accepted: Collection[KeyPath] = ()
) -> str:
    """What is wrong with the first value that is a TODO or holds a placeholder; empty where none does.

    ``${NAME}`` that stands for the value's own variable is no placeholder: whoever launches has it. Nor is a
    value below ``server``, ``nccl`` or ``env`` whose place in the file is one of ``accepted``.
    """
    whole = loaded_in_blocks(deployment, facts)
    given = arguments(deployment.model, facts)
    for name in places({name: one.value for name, one in given.items()}):
        path = given[name].path
        for value, own in _texts(given[name].value, name):
            found = None if value == own else reference_in(value)
            if name in _NEEDED:
                other = _IN_PATH.search(value) if found is None and value != own else None
                found = Reference("placeholder", other[0], False) if other else found
            elif found is not None and (_is_secret(name, found) or whole.document_path(path) in accepted):
                found = None
            if found is not None:
                return _says(_in_the_file(whole, path), value, found, RULE if path[0] == "server" else "")
    variables: dict[KeyPath, tuple[str, str]] = {
        ("env", name): (name, text) for name, text in deployment.model.env.items()
    }
    variables |= {("nccl", key): (environment_name(key), text) for key, text in deployment.model.nccl.items()}
    for path, (name, text) in variables.items():
        found = None if text == handed_on(name) else reference_in(text)
        if found is None or found.kind == "home" or _is_secret(name, found):
            continue
        if whole.document_path(path) not in accepted:
            return _says(_in_the_file(whole, path), text, found, RULE)
    return ""


def _in_the_file(whole: LoadedDeployment, path: KeyPath) -> KeyPath:
    """The path inside the deployment as the file spells it."""
    given = whole.origin.get(path, path)
    return given[2:] if given[0] == "deployments" else given[1:] if given[0] == "defaults" else given


def _is_secret(name: str, found: Reference) -> bool:
    """Whether it is a sign in a secret, of which render writes the name alone."""
    return is_secret_name(name) and not found.whole


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """(text, the text that stands for its own variable) of a value."""
    if isinstance(value, str):
        yield value, handed_on(variable_of(name))
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            if isinstance(item, str):
                yield item, handed_on(variable_of(name, number))
            else:
                yield from _texts(item, name)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item, name)


def _says(path: KeyPath, value: str, found: Reference, rule: str) -> str:
    place, shown = show_path(path), redact_text(value)
    shown = "***" if is_secret_name(str(path[-1])) else shown if len(shown) <= 60 else f"{shown[:57]}..."
    if found.kind == "home":
        text = f"{place} is {shown!r}: nothing expands ~ in a file; write the folder in full"
    elif found.kind in ("variable", "command"):
        part = "it" if found.whole else found.part
        text = f"{place} is {shown!r}, and a launch puts nothing in place of {part}; write the value"
    else:
        text = f"{place} is {shown!r}, which has still to be filled in; write the value"
    meant = f", or where these letters are meant say so beside it: # eaglecfg: ignore[{rule}] why"
    return text + (meant if rule else "")
