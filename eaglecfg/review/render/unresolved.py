"""Values that somebody has still to fill in: no launch can be made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.engines.arguments import arguments
from eaglecfg.engines.command import environment_name, handed_on
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.review.placing import ALGORITHM, DRAFT, MODEL, places
from eaglecfg.review.secrets import variable_of
from eaglecfg.schema.deployment import Deployment
from eaglecfg.source.span import show_path

_TODO = re.compile(
    r"TODO\b.*|<[A-Za-z][A-Za-z0-9 ._-]*>|\$\{[A-Za-z_][A-Za-z0-9_]*(?:\[[@*]\])?\}|\{\{.*\}\}", re.S
)
_INSIDE = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|`[^`]*`|\{\{.*?\}\}|<[A-Za-z][A-Za-z0-9 ._-]*>")
_NEEDED = (MODEL, DRAFT, ALGORITHM)


def unresolved(deployment: Deployment, facts: EngineFacts | None) -> str:
    """What is wrong with the first value that is a TODO or a placeholder, empty where none is.

    ``${NAME}`` that stands for the value's own variable is no placeholder: whoever launches has it.
    """
    settings = {name: given.value for name, given in arguments(deployment, facts).items()}
    where = places(settings)
    for name, path in where.items():
        for value, own in _texts(settings[name], name):
            if value == own:
                continue
            if _TODO.fullmatch(value):
                return _says(show_path(path), value)
            if name in _NEEDED and _INSIDE.search(value):
                return _says(show_path(path), value)
            if name in (MODEL, DRAFT) and re.match(r"~[A-Za-z0-9_-]*(/|$)", value):
                return (
                    f"{show_path(path)} is {value!r}: nothing expands ~ in a file; write the folder in full"
                )
    given = {("env", name): (name, text) for name, text in deployment.env.items()}
    given |= {("nccl", key): (environment_name(key), text) for key, text in deployment.nccl.items()}
    for place, (name, text) in given.items():
        if text != handed_on(name) and _TODO.fullmatch(text):
            return _says(show_path(place), text)
    return ""


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """(text, the text that stands for its own variable) of a value."""
    if isinstance(value, str):
        yield value, handed_on(variable_of(name))
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            if isinstance(item, str):
                yield item, handed_on(variable_of(name, number))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item, name)


def _says(place: str, value: str) -> str:
    shown = value if len(value) <= 60 else f"{value[:57]}..."
    return f"{place} is {shown!r}, which has still to be filled in; write the value"
