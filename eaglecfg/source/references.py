"""Text that means something only to whoever expands it or fills it in; no value of a config is.

Bare dollars mean nothing here: ``costs 5$``, ``^a$``, ``pa$sword`` and ``$$X`` are what they are.
"""

from __future__ import annotations

import re
from typing import Literal

from eaglecfg.record import record

Kind = Literal["variable", "command", "template", "placeholder", "home"]

_MARKS = ("$", "`", "{{", "<", "~", "TODO")
_BRACES = r"\$\{[A-Za-z_@*#!?0-9][^}]{0,500}\}"
_NESTED = r"\$\{[A-Za-z_@*#!?0-9][^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_COMMAND = r"\$\((?!\?)[^)]{0,500}\)+"  # $(?: is a regular expression
_TEMPLATE = r"\{\{.{0,500}?\}\}"
_ANGLE = (
    r"<(?:[A-Z][A-Z0-9_ .-]+|[A-Za-z][\w.]*[ -][\w .-]*"
    r"|(?:your|my|path|model|host|port|ip|name|target|draft|checkpoint|dir|folder|url|address|value)[\w.]*)>"
)
"""What instructions write; ``<s>`` and ``<think>`` are tokens of a model."""

_WHOLE: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("placeholder", re.compile(rf"TODO\b.*|{_ANGLE}", re.S)),
    ("variable", re.compile(rf"\$(?:[A-Za-z_]\w*|[@*])|{_NESTED}", re.A)),
    ("command", re.compile(r"\$\((?!\?).*\)|`[^`]+`", re.S)),
    ("template", re.compile(_TEMPLATE, re.S)),
)
_INSIDE: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("variable", re.compile(rf"{_BRACES}|(?<!\$)\$[A-Z_][A-Z0-9_]+", re.A)),
    ("command", re.compile(_COMMAND)),
    ("template", re.compile(_TEMPLATE, re.S)),
    ("placeholder", re.compile(rf"(?<![^/:@=-]){_ANGLE}(?![^/:.@-])")),
)
_TICKS = re.compile(r"[^\s`]*(`[^`]+`)\S*")
_HOME = re.compile(r"~[\w-]*(?:/|\Z)")


@record
class Reference:
    """What stands in a value. ``part`` is its text, ``whole`` whether it is all of the value."""

    kind: Kind
    part: str
    whole: bool


def reference_in(text: str) -> Reference | None:
    """The first part of ``text`` that a shell would expand, or that somebody has still to fill in.

    A ``~`` counts where it begins the text as a folder; backticks count where the text has no blanks
    around them, since prose has backticks too.
    """
    if not any(mark in text for mark in _MARKS):
        return None
    for kind, pattern in _WHOLE:
        if pattern.fullmatch(text):
            return Reference(kind, text, True)
    found = [
        (match.start(), kind, match[0])
        for kind, pattern in _INSIDE
        if (match := pattern.search(text)) is not None
    ]
    ticks = _TICKS.fullmatch(text)
    if ticks is not None:
        found.append((ticks.start(1), "command", ticks[1]))
    if found:
        _, kind, part = min(found)
        return Reference(kind, part, False)
    home = _HOME.match(text)
    return Reference("home", home[0], False) if home is not None else None


def variable_of(flag: str, item: int | None = None) -> str:
    """The variable that stands in for a value of the server flag ``flag``, or for one item of its list.

    Items count from 1. ``${...}`` of this name as the value of a flag says that whoever launches has it.
    """
    name = f"SGLANG_{flag.upper().replace('-', '_').replace('.', '_')}"
    return name if item is None else f"{name}_{item}"
