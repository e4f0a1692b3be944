"""Lines of the user's file with marks under the words that matter."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.record import record
from eaglecfg.report.styled import Line, Part, Style, cells, line, visible
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath, Span

LONGEST_LINE = 160
"""Code points of a source line that are shown; a screen is not helped by more."""


@record
class Mark:
    """A run of marks under one span, with a note behind it."""

    span: Span
    note: str
    primary: bool


def snippet(document: Document, marks: Sequence[Mark], path: KeyPath, style: Style) -> list[Line]:
    """The marked lines with their line numbers, preceded by the nearest parent keys of ``path``."""
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
        text = document.lines[number - 1] if number <= len(document.lines) else ""
        out.append(line(Part(f"{number:>{gutter}} |", "place"), " ", _shown(text)))
        for mark in sorted(by_line.get(number, []), key=lambda m: m.span.start, reverse=True):
            out.append(line(bar, " ", *_underline(text, mark, style)))
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


def _shown(text: str) -> str:
    text = _expand(text[: LONGEST_LINE + 1])  # a line may be as long as a file
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + " …"


def _expand(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _underline(text: str, mark: Mark, style: Style) -> tuple[Part, ...]:
    start = mark.span.start.column - 1
    same_line = mark.span.end.line == mark.span.start.line
    end = mark.span.end.column - 1 if same_line else len(text.rstrip())
    # Marks never run past what is shown of the line.
    before = min(cells(_expand(text[: min(start, LONGEST_LINE)])), LONGEST_LINE)
    width = max(1, min(cells(_expand(text[start : max(end, start)][:LONGEST_LINE])), LONGEST_LINE - before))
    run = ("^" if mark.primary else "-") * width
    note = f" {mark.note}" if mark.note else ""
    chosen: Style = style if mark.primary else "place"
    return Part(" " * before), Part(run + note, chosen)
