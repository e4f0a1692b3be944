"""A captured state that fc multiplies by zero."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.weights.reading import fused, undecided


def check(ctx: Context) -> Iterator[Item]:
    """No block of columns of fc may be zero throughout while others are not."""
    assert ctx.values is not None
    found = fused(ctx)
    if found is None:
        yield NotApplicable()
        return
    fc, width = found
    yield from undecided(ctx.values, fc.name)
    values = ctx.values.tensors.get(fc.name)
    if values is None or values.zero or not values.dead_columns:
        return
    states = fc.shape[1] // width
    numbers = [first // width for first, _ in values.dead_columns]
    boundaries = ctx.boundaries.captured if ctx.boundaries is not None else ()
    known = len(boundaries) == states and ctx.boundaries is not None and ctx.boundaries.outcome == "captured"
    columns = " and ".join(f"{first:,} to {last:,}" for first, last in values.dead_columns)
    which = " and ".join(str(number + 1) for number in numbers)
    what = f"state {which} of {states}" if len(numbers) == 1 else f"states {which} of {states}"
    if known:
        ids = " and ".join(str(boundaries[number]) for number in numbers)
        what += f", boundary {ids}" if len(numbers) == 1 else f", boundaries {ids}"
    yield Finding(
        f"columns {columns} of the draft's {fc.name} are zero: the draft ignores {what}",
        ctx.where("draft", "checkpoint"),
        why="the target captures it for nothing: the draft was trained without it, or lost what it had "
        "learned of it; the server stays healthy, with a lower accept length",
        help="check that the draft was trained on as many states as its config says, and that fc was "
        "exported whole",
        evidence=(tensor_line(fc, f"{states} states of {width:,} columns each"),),
        values={
            "columns": [list(block) for block in values.dead_columns],
            "states": [number + 1 for number in numbers],
            "boundaries": [boundaries[number] for number in numbers] if known else [],
        },
    )


RULE = Rule(
    id="EC819",
    slug="state-ignored",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.WEIGHTS, Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
)
