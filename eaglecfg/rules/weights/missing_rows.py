"""Rows of zeros in the middle of a matrix that neither padding nor pruning explains."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.checkpoint.values import TensorValues
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.shapes.expected import wiring
from eaglecfg.rules.weights.reading import parts

FILE_BLOCK = 1 << 12
"""Bytes of the smallest blocks that files are written in."""

CHANCE = 8
"""How many times as large as what all rows are multiples of anyhow a block must be, to tell something."""

SHORTEST = 1 << 16
"""Bytes of a run of rows that are taken for a lost block of the file."""

HEADS = 32
"""Every width of a head is a multiple, where the config does not give it."""

ASIDE = 4
"""A vocabulary sets fewer than one in so many of its tokens aside in its middle."""

PAIRED = {"gate_proj": "up_proj", "up_proj": "gate_proj"}
"""Weights that pruning takes the same rows from."""


@record
class Gap:
    """Rows ``first`` to ``last`` are zero. ``block``: bytes of the largest blocks of the file that they fill
    exactly, 0 where they do not. ``start`` is their first byte in the file, ``size`` their bytes."""

    tensor: TensorFact
    first: int
    last: int
    start: int
    size: int
    block: int = 0

    @property
    def which(self) -> str:
        """``rows 237 to 748 of 1,024``."""
        return f"rows {self.first:,} to {self.last:,} of {self.tensor.shape[0]:,}"

    @property
    def blocks(self) -> str:
        """``4 blocks of 64 KiB``."""
        count = self.size // self.block
        return f"{count:,} block{'s' * (count > 1)} of {self.block >> 10:,} KiB"

    @property
    def note(self) -> str:
        """For a line beneath: which rows, and where in the file."""
        return f"{self.which}, bytes {self.start:,} to {self.start + self.size - 1:,} of the file"


def gaps(ctx: Context) -> Iterator[Gap]:
    """What is missing, tensor by tensor."""
    assert ctx.values is not None
    part = parts(ctx)
    for values in ctx.values.tensors.values():
        inner = list(_inner(values))
        lost = [gap for gap in inner if gap.block and not _pruned(ctx, gap, part[gap.tensor.name])]
        # Where most runs of rows do not fill blocks, those that do are chance.
        if 2 * len(lost) > len(inner):
            yield from lost
            inner = [gap for gap in inner if gap not in lost]
        if part[values.tensor.name] == "head":
            for gap in inner:
                if (gap.last - gap.first + 1) * ASIDE >= values.tensor.shape[0]:
                    yield Gap(gap.tensor, gap.first, gap.last, gap.start, gap.size)


def _inner(values: TensorValues) -> Iterator[Gap]:
    """Runs of whole rows with others before and after them."""
    shape = values.tensor.shape
    if len(shape) != 2 or not values.zero_runs:
        return
    row = values.size // shape[0]
    common = _power(values.start) if values.start else row
    common = min(common, _power(row))
    for run in values.zero_runs:
        if run.ragged or run.rows is None or run.rows[0] == 0 or run.rows[1] == shape[0]:
            continue
        first, last = run.rows
        start, size = values.start + first * row, (last - first) * row
        block = min(_power(start), _power(size))
        wanted = max(FILE_BLOCK, CHANCE * common)
        enough = block >= wanted and size >= SHORTEST
        yield Gap(values.tensor, first, last - 1, start, size, block if enough else 0)


def _power(number: int) -> int:
    """The largest power of two that divides ``number``."""
    return number & -number


def _pruned(ctx: Context, gap: Gap, part: str) -> bool:
    """Whether whole heads are zero, or the same neurons of gate and up."""
    assert ctx.values is not None
    if part == "attention":
        built = wiring(ctx)
        head = (built.head_dim if built is not None else None) or HEADS
        return not (gap.first % head or (gap.last + 1) % head)
    for one, other in PAIRED.items():
        if f".{one}." in gap.tensor.name:
            twin = ctx.values.tensors.get(gap.tensor.name.replace(f".{one}.", f".{other}."))
            runs = twin.zero_runs if twin is not None else ()
            return any(run.rows == (gap.first, gap.last + 1) for run in runs)
    return False
