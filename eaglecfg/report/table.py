"""Tables of text that fold where a terminal is too narrow for their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from eaglecfg.report.styled import Line, Part, Style, cells, line, wrapped

INDENT, GAP = "  ", "  "
LEAST = 40
"""Narrower than this nothing is folded any more."""


class Table:
    """Columns as wide as their widest cell. Where the rows are wider than ``width``, the last columns go to
    lines below, under the first: as few of them as will do, and the same ones in every row.

    ``rows`` are those whose cells decide how wide the columns are, the head among them; ``right`` holds the
    columns of numbers, which are set to the right.
    """

    def __init__(self, rows: Iterable[Sequence[str]], width: int, right: Collection[int] = ()) -> None:
        found = list(rows)
        self.width, self.right = max(width, LEAST), right
        self.widths = [max(map(cells, column)) for column in zip(*found, strict=True)]
        self.pieces = [*self._pieces()]

    def _pieces(self) -> Iterator[range]:
        """The columns of each line of a row."""
        begun, room = 0, self.width - len(INDENT)
        used = 0
        for index, width in enumerate(self.widths):
            if index > begun and used + len(GAP) + width > room:
                yield range(begun, index)
                begun, used = index, 0
                room = self.width - 2 * len(INDENT)
            used += width + (len(GAP) if index > begun else 0)
        yield range(begun, len(self.widths))

    def lines(self, row: Sequence[str], style: Style = "plain", **styles: Style) -> Iterator[Line]:
        """One row. ``styles``: ``c5="good"`` for what column 5 has of its own."""
        for number, piece in enumerate(self.pieces):
            texts = [row[index] for index in piece]
            if number and not any(texts):
                continue
            indent = INDENT if not number else INDENT * 2
            if len(piece) == 1 and cells(texts[0]) > self.width - len(indent):
                first, _, rest = texts[0].partition(" ")
                own = styles.get(f"c{piece[0]}", style)
                yield from wrapped(line(indent, Part(first, own)), rest, self.width, indent + GAP, own)
                continue
            parts = [Part(indent)]
            for index, text in zip(piece, texts, strict=True):
                space = " " * (self.widths[index] - cells(text))
                shown = space + text if index in self.right else text + space
                parts += [Part(shown, styles.get(f"c{index}", style)), Part(GAP)]
            yield tuple(parts)
