"""Runs of zeros in a matrix: where they begin and end, and whether rows and columns explain them."""

from __future__ import annotations

from collections.abc import Callable

from eaglecfg.checkpoint.floats import Judge
from eaglecfg.record import record

BLOCK = 1 << 15
"""Bytes of the blocks that are looked at for zeros: every run of zeros of twice the length covers one."""

MARGINS = 16, 128
"""Bounds of how far from the borders of a row a run has to begin or end, in values; an eighth of the row.
Some values are zero by chance, in narrow formats many."""

MOST_RUNS = 1_000
"""Runs of one tensor that are looked at closely, the longest: each is read at both ends."""

_ZERO_BLOCK = bytes(BLOCK)

Read = Callable[[int, int], bytes]
"""Reads bytes of the tensor from the first to before the last; what lies outside of it is left out."""


@record
class Run:
    """Values ``begin`` to ``end`` (exclusive), counted row by row, are zero, with others around them.

    ``ragged``: it begins or ends within a row where the next row goes on otherwise, which no padding and no
    pruning of rows or columns does. ``rows`` are first and last (exclusive) of the rows that it covers whole;
    None where it covers none, and where the tensor has no rows.
    """

    begin: int
    end: int
    ragged: bool = False
    rows: tuple[int, int] | None = None


def add_blocks(runs: list[tuple[int, int]], data: bytes, at: int) -> None:
    """Add the blocks of ``data``, which begins at byte ``at`` of its tensor, that are zeros throughout."""
    for begin in range(0, len(data) - BLOCK + 1, BLOCK):
        if data.startswith(_ZERO_BLOCK, begin):
            if runs and runs[-1][1] == at + begin:
                runs[-1] = runs[-1][0], at + begin + BLOCK
            else:
                runs.append((at + begin, at + begin + BLOCK))


def judged(runs: list[tuple[int, int]], shape: tuple[int, ...], judge: Judge, read: Read) -> tuple[Run, ...]:
    """``runs`` of blocks (in bytes) to the value, in order; of rows longer than they are they say nothing."""
    row = shape[-1] if len(shape) > 1 else 0
    if len(runs) > MOST_RUNS:
        runs = sorted(sorted(runs, key=lambda run: run[0] - run[1])[:MOST_RUNS])
    # A block ahead and one behind are the most that a run can have beside the blocks it covers.
    long = [run for run in runs if run[1] - run[0] + 2 * BLOCK > row * judge.width]
    return tuple(_judged(run, row, judge, read) for run in long)


def _judged(run: tuple[int, int], row: int, judge: Judge, read: Read) -> Run:
    begin, end = run
    first = begin // judge.width - judge.zeros_last(read(begin - BLOCK, begin))
    last = end // judge.width + judge.zeros_first(read(end, end + BLOCK))
    if not row or last - first <= row:
        return Run(first, last)
    # Columns of the first row ahead of the run, and of the last row in it.
    before, after = first % row, last % row
    rows = -(-first // row), last // row
    ragged = False
    margin = max(MARGINS[0], min(row // 8, MARGINS[1]))
    if margin <= before <= row - margin:
        # Where the row above has zeros in the same columns, the columns are padding.
        above = read((first - row) * judge.width, (first - before) * judge.width)
        ragged = first < row or not judge.all_zero(above)
    if margin <= after <= row - margin and not ragged:
        below = read((last - after + row) * judge.width, (last + row) * judge.width)
        ragged = not below or not judge.all_zero(below)
    return Run(first, last, ragged, rows if rows[0] < rows[1] else None)
