"""Lines of the user's file with marks under the words that matter; secrets blanked."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.record import record
from eaglecfg.report.styled import Line, Part, Style, cells, line, visible
from eaglecfg.source.document import Document
from eaglecfg.source.secret_places import line_without
from eaglecfg.source.span import KeyPath, Span

LONGEST_LINE = 160
"""Columns of a source line that are shown; a screen is not helped by more."""

MIN_WIDTH = 24
FARTHEST = 20_000
"""Code points of a source line that are looked at: a mark beyond them stands at their end."""

CUT = "… "
"""Stands where a line was cut at the front; turned around, at the end."""


@record
class Mark:
    """A run of marks under one span, with a note behind it."""

    span: Span
    note: str
    primary: bool


def snippet(
    document: Document, marks: Sequence[Mark], path: KeyPath, style: Style, width: int = LONGEST_LINE
) -> list[Line]:
    """The marked lines with their line numbers, preceded by the nearest parent keys of ``path``.

    Of a line that is wider than ``width`` what stands around the first mark is shown.
    """
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        by_line.setdefault(mark.span.start.line, []).append(mark)
    first = min(by_line)
    shown = sorted({*by_line, *_parents(document, path, first)})
    gutter = len(str(shown[-1]))
    bar = Part(" " * gutter + " |", "place")
    out: list[Line] = [line(bar)]
    previous: int | None = None
    for number in shown:
        if previous is not None and number > previous + 1:
            out.append(line(bar, Part("   ...", "dim")))
        previous = number
        text = line_without(document, number)
        here = sorted(by_line.get(number, []), key=lambda m: m.span.start, reverse=True)
        window = _window(text, here, max(MIN_WIDTH, min(width, LONGEST_LINE) - gutter - 3))
        out.append(line(Part(f"{number:>{gutter}} |", "place"), " ", window.text))
        for mark in here:
            out.append(line(bar, " ", *_underline(text, mark, style, window)))
    out.append(line(bar))
    return out


def _parents(document: Document, path: KeyPath, first: int) -> list[int]:
    """Lines of the deployment's key and of the block's key, so that a snippet says where it is."""
    lines = []
    for length in range(1, len(path)):
        key = document.place(path[:length]).key
        if key is not None and key.start.line < first and (path[0] != "deployments" or length > 1):
            lines.append(key.start.line)
    return lines[:2]


@record
class _Window:
    """What is shown of a line: ``text``, which begins ``lead`` cells in front of code point ``start``.

    ``end`` is the code point behind the last one shown.
    """

    text: str
    start: int
    end: int
    lead: int


def _window(text: str, marks: Sequence[Mark], room: int) -> _Window:
    text = text[:FARTHEST]  # a line may be as long as a file
    if cells(_expand(text)) <= room:
        return _Window(_expand(text), 0, len(text), 0)
    mark = next((each for each in marks if each.primary), marks[-1] if marks else None)
    at = min(mark.span.start.column - 1, len(text)) if mark is not None else 0
    start = 0
    if mark is not None:
        same = mark.span.end.line == mark.span.start.line
        last = max(at + 1, min(mark.span.end.column - 1 if same else len(text), at + room // 2))
        if cells(_expand(text[:last])) > room - len(CUT):
            start = _back(text, at, room // 3)
    lead = len(CUT) if start else 0
    end, used = start, lead
    while end < len(text) and used + (size := cells(_expand(text[end]))) <= room - len(CUT):
        end, used = end + 1, used + size
    behind = CUT[::-1] if end < len(text) else ""
    return _Window((CUT if start else "") + _expand(text[start:end]) + behind, start, end, lead)


def _back(text: str, at: int, room: int) -> int:
    """The code point some ``room`` cells in front of ``at``."""
    start, used = at, 0
    while start > 0 and used + (size := cells(_expand(text[start - 1]))) <= room:
        start, used = start - 1, used + size
    return start


def _expand(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _underline(text: str, mark: Mark, style: Style, window: _Window) -> tuple[Part, ...]:
    same_line = mark.span.end.line == mark.span.start.line
    end = mark.span.end.column - 1 if same_line else len(text.rstrip())
    # Marks never run past what is shown of the line.
    start = min(max(mark.span.start.column - 1, window.start), window.end)
    end = min(max(end, start), window.end)
    before = window.lead + cells(_expand(text[window.start : start]))
    width = max(1, cells(_expand(text[start:end])))
    run = ("^" if mark.primary else "-") * width
    note = f" {mark.note}" if mark.note else ""
    chosen: Style = style if mark.primary else "place"
    return Part(" " * before), Part(run + note, chosen)
