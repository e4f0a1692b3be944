"""An input of the draft that fc or attention multiplies by zero, or cannot tell from another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.checkpoint.column_blocks import Columns
from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.checkpoint.values import TensorValues
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.weights.reading import fed, fused, undecided

INPUTS = "the embedding of the token", "the state that comes in beside it"
"""What the columns of attention belong to, the first half and the second."""

ZERO = ("0", "-0")


def check(ctx: Context) -> Iterator[Item]:
    """No block of columns of fc, q, k or v that belongs to one input may be zero or one value throughout
    while others are not, and no two of fc may be the same."""
    assert ctx.values is not None
    assert ctx.draft is not None
    state, (attention, width) = fused(ctx), fed(ctx)
    if ctx.values.reason:
        yield from undecided(ctx)
        return
    if ctx.engine is None or ctx.draft.config is None:
        lacking = Need.ENGINE if ctx.engine is None else Need.DRAFT_CONFIG
        yield NotChecked(f"needs {lacking}")
        return
    if state is None and not attention:
        yield NotApplicable()
        return
    names = [] if state is None else [state[0].name]
    yield from undecided(ctx, *names, *(each.name for each in attention))
    if state is not None and (values := _alive(ctx, state[0])) is not None:
        yield from _of_fc(ctx, values, state[1])
    for number, what in enumerate(INPUTS):
        columns = number * width, (number + 1) * width - 1
        yield from _of_attention(ctx, attention, columns, what)


def _alive(ctx: Context, tensor: TensorFact) -> TensorValues | None:
    """Values of ``tensor`` where no other rule says that it is dead as a whole."""
    assert ctx.values is not None
    found = ctx.values.tensors.get(tensor.name)
    return None if found is None or found.zero or found.constant is not None else found


def _dead(values: TensorValues) -> Iterator[tuple[Columns, str]]:
    """Blocks that are one finite value, which another rule says nothing of."""
    finite = not (values.nan or values.infinite)
    return (each for each in values.blocks.dead if finite or each[1] in ZERO)


def _of_fc(ctx: Context, values: TensorValues, width: int) -> Iterator[Finding]:
    """What fc makes of one state, or of two."""
    fc, states = values.tensor, values.tensor.shape[1] // width
    boundaries = ctx.boundaries.captured if ctx.boundaries is not None else ()
    known = len(boundaries) == states and ctx.boundaries is not None and ctx.boundaries.outcome == "captured"
    alike = sorted({columns for pair in values.blocks.same for columns in pair})
    found = dict(_dead(values))
    dead, zero = list(found), all(value in ZERO for value in found.values())
    for blocks, state, does in (
        (dead, "zero" if zero else "one value throughout", "the draft ignores"),
        (alike, "the same", "the draft cannot tell apart"),
    ):
        if not blocks:
            continue
        numbers = [first // width for first, _ in blocks]
        columns = " and ".join(f"{first:,} to {last:,}" for first, last in blocks)
        which = " and ".join(str(number + 1) for number in numbers)
        what = f"state {which} of {states}" if len(numbers) == 1 else f"states {which} of {states}"
        if known:
            ids = " and ".join(str(boundaries[number]) for number in numbers)
            what += f", boundary {ids}" if len(numbers) == 1 else f", boundaries {ids}"
        yield Finding(
            f"columns {columns} of the draft's {fc.name} are {state}: {does} {what}",
            ctx.where("draft", "checkpoint"),
            why="the target captures it for nothing: the draft was trained without it, or lost what it had "
            "learned of it; the server stays healthy, with a lower accept length"
            if blocks is dead
            else "training makes no two of them alike: an export wrote one in place of the other; the server "
            "stays healthy, with a lower accept length",
            help="check that the draft was trained on as many states as its config says, and that fc was "
            "exported whole",
            evidence=(tensor_line(fc, f"{states} states of {width:,} columns each"),),
            values={
                "columns": [list(block) for block in blocks],
                "states": [number + 1 for number in numbers],
                "boundaries": [boundaries[number] for number in numbers] if known else [],
            },
        )


def _of_attention(
    ctx: Context, every: Sequence[TensorFact], columns: Columns, what: str
) -> Iterator[Finding]:
    """What attention makes of one of its two inputs."""
    assert ctx.values is not None
    found = [values for each in every if (values := ctx.values.tensors.get(each.name)) is not None]
    dead = {
        values.tensor.name: value for values in found for block, value in _dead(values) if block == columns
    }
    if not dead:
        return
    lost = [each for each in every if each.name in dead]
    others = {values.tensor.name for values in found if values.constant is not None or values.zero}
    whole = len(lost) + len(others) == len(every)
    state = "zero" if all(value in ZERO for value in dead.values()) else "one value throughout"
    blind = "the draft's attention ignores" if whole else "a part of the draft's attention ignores"
    yield Finding(
        f"columns {columns[0]:,} to {columns[1]:,} of the draft's {listed(list(dead))} are {state}: "
        f"{blind} {what}",
        ctx.where("draft", "checkpoint"),
        severity=Severity.ERROR if whole else Severity.WARNING,
        why="the first layer is fed embedding and state side by side, and no training leaves one of them "
        "without weight: an export that joins two halves lost one; the server stays healthy, with a lower "
        "accept length",
        help="export the draft again, and compare its weights with those of the training run",
        evidence=tuple(tensor_line(each, f"{columns[1] - columns[0] + 1:,} columns each") for each in lost),
        values={"columns": [list(columns)], "tensors": list(dead), "input": what},
    )


RULE = Rule(
    id="EC819",
    slug="state-ignored",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.WEIGHTS,),
)
