"""Blocks of columns of a matrix, one for each input: those that are one value throughout, and equal ones."""

from __future__ import annotations

from eaglecfg.checkpoint.floats import Judge
from eaglecfg.checkpoint.zero_runs import Read
from eaglecfg.record import record

CHUNK = 1 << 20
"""Bytes of rows that are read at a time. In nearly all matrices the first chunk decides."""

LONGEST_ROW = 8 * CHUNK
"""Rows of more bytes are not looked at: no model is as wide."""

MOST_BLOCKS = 1_000
"""Blocks of a matrix that are looked at: no draft has as many inputs; a file can say anything."""

Columns = tuple[int, int]
"""First and last column of a block."""


@record
class Blocks:
    """``dead``: columns and the value that all of the block have; zero is ``0`` or ``-0``. ``same``: pairs of
    blocks with the same bytes, that are not dead and mostly not zero."""

    dead: tuple[tuple[Columns, str], ...] = ()
    same: tuple[tuple[Columns, Columns], ...] = ()


def judged(shape: tuple[int, ...], block: int, judge: Judge, read: Read) -> Blocks:
    """Look at the blocks of ``block`` columns each of a matrix, row by row, as long as any may be odd."""
    row, width = shape[1] * judge.width, block * judge.width
    if not 0 < row <= LONGEST_ROW or not 0 < shape[1] // block <= MOST_BLOCKS:
        return Blocks()
    state = _State(shape[1] // block, width, judge)
    rows = max(1, CHUNK // row)
    for first in range(0, shape[0], rows):
        last = min(first + rows, shape[0])
        data = read(first * row, last * row)
        if len(data) < (last - first) * row:
            return Blocks()
        for at in range(0, len(data), row):
            state.look(data, at)
            if not state.open:
                return Blocks()
    return state.found(block)


class _State:
    """What may still be said of the blocks, after the rows so far."""

    def __init__(self, count: int, width: int, judge: Judge) -> None:
        self._count, self._width, self._judge = count, width, judge
        self._zero = set(range(count))
        self._filled: dict[int, bytes] | None = None  # block to the row that all its rows must be
        self._same: list[tuple[int, int]] | None = None
        self._sample: dict[int, bytes] = {}

    @property
    def open(self) -> bool:
        return bool(self._zero or self._filled or self._same)

    def look(self, data: bytes, at: int) -> None:
        """Look at the row that begins at ``at`` of ``data``."""

        def part(number: int) -> bytes:
            return data[at + number * self._width : at + (number + 1) * self._width]

        if self._filled is None or self._same is None:
            self._begin([part(number) for number in range(self._count)])
        assert self._filled is not None
        assert self._same is not None
        self._zero = {number for number in self._zero if self._judge.all_zero(part(number))}
        self._filled = {number: row for number, row in self._filled.items() if row == part(number)}
        self._same = [pair for pair in self._same if part(pair[0]) == part(pair[1])]
        for number, _ in self._same:
            if number not in self._sample and not self._judge.all_zero(part(number)):
                self._sample[number] = part(number)

    def _begin(self, parts: list[bytes]) -> None:
        """Candidates as the first row has them; each equal block is held against the first of its kind."""
        size = self._judge.width
        fills = {number: part[:size] * (len(part) // size) for number, part in enumerate(parts)}
        self._filled = {number: fill for number, fill in fills.items() if fill == parts[number]}
        kinds: dict[bytes, int] = {}
        self._same = []
        for number, part in enumerate(parts):
            one = kinds.setdefault(part, number)
            if one != number:
                self._same.append((one, number))

    def found(self, block: int) -> Blocks:
        """What holds after the last row."""

        def columns(number: int) -> Columns:
            return number * block, (number + 1) * block - 1

        filled, size = self._filled or {}, self._judge.width
        values = {number: self._judge.number(row[:size]) for number, row in filled.items()}
        dead = {**values, **dict.fromkeys(self._zero - values.keys(), "0")}
        same = [pair for pair in self._same or () if pair[0] not in dead and self._dense(pair[0])]
        return Blocks(
            tuple((columns(number), dead[number]) for number in sorted(dead)),
            tuple((columns(first), columns(second)) for first, second in same),
        )

    def _dense(self, number: int) -> bool:
        """Whether most values of a row are not zero: blocks of identities are alike where nothing is lost."""
        row, size = self._sample.get(number, b""), self._judge.width
        zeros = sum(self._judge.all_zero(row[at : at + size]) for at in range(0, len(row), size))
        return 2 * zeros < len(row) // size
