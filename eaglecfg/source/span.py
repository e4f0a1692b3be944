"""Positions in a text file."""

from __future__ import annotations

from typing import NamedTuple

from eaglecfg.record import record

KeyPath = tuple[str | int, ...]
"""The way to a value in a parsed document: mapping keys and list indices, outermost first."""


class Position(NamedTuple):
    """A place between two characters. Lines and columns count from 1, columns in code points."""

    line: int
    column: int


@record
class Span:
    """A stretch of text; ``end`` is exclusive."""

    start: Position
    end: Position


@record
class Place:
    """Where one key and its value stand.

    ``key`` is None for list items and for the whole document. ``text`` is a scalar's spelling in the source
    (quotes removed), None for mappings and lists. ``quoted`` tells whether that scalar was quoted.
    ``shared`` is true where the value belongs to an anchor or comes from an alias: an edit here would change
    another user of the same text. For a value reached through an alias, ``value`` is the span of the alias
    and ``origin`` that of the text behind it.
    """

    key: Span | None
    value: Span
    text: str | None = None
    quoted: bool = False
    shared: bool = False
    origin: Span | None = None


def show_path(path: KeyPath) -> str:
    """``deployments.chat.capture.layer_ids[1]``, as messages spell it."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out
