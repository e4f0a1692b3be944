"""A parsed file: its text, its plain data, and where everything stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from eaglecfg.record import record
from eaglecfg.source.span import KeyPath, Place, Position, Span


@record
class Problem:
    """Something wrong with the text itself. ``kind`` names it (``duplicate-key``, ``tab-indent``, ...).

    ``spare`` is text that can go without a loss: a key with its value that stands there a second time.
    """

    kind: str
    message: str
    span: Span
    help: str = ""
    path: KeyPath = ()
    other: Span | None = None
    other_note: str = ""
    spare: Span | None = None


@record
class Document:
    """One file as read. ``name`` is its path as the user spelled it; paths in it resolve against ``folder``.

    ``data`` holds str, int, float, bool, None, list and dict only; dict keys are str. ``places`` has an entry
    for every path in ``data`` and for the root ``()``. Nothing is dropped silently: what could not be taken
    into ``data`` is in ``problems``.
    """

    name: str
    folder: str
    text: str
    data: Any
    places: Mapping[KeyPath, Place]
    problems: tuple[Problem, ...] = ()
    lines: tuple[str, ...] = field(default=())

    def place(self, path: KeyPath) -> Place:
        """The place of ``path``, or of its nearest parent that stands in the file."""
        while path not in self.places and path:
            path = path[:-1]
        return self.places.get(path) or Place(None, Span(Position(1, 1), Position(1, 1)))
