"""A stretch of zeros in the middle of a weight: bytes that were never written."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.values import Run, TensorValues
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.weights.reading import undecided

SHOWN = 6


def check(ctx: Context) -> Iterator[Item]:
    """No matrix may have a run of zeros over more than a row that begins or ends within one."""
    assert ctx.values is not None
    yield from undecided(ctx.values)
    holes = [
        (each, each.zero_run)
        for each in ctx.values.tensors.values()
        if each.zero_run is not None and each.zero_run.ragged
    ]
    if not holes:
        return
    names = [each.tensor.name for each, _ in holes]
    if len(holes) == 1:
        each, run = holes[0]
        message = f"{_stretch(each, run)} of the draft's {names[0]} are zero, from within one row to another"
    else:
        message = (
            f"{len(holes):,} tensors of the draft have stretches of zeros across their rows: {listed(names)}"
        )
    yield Finding(
        message,
        ctx.where("draft", "checkpoint"),
        why="no training, pruning or padding leaves zeros across rows; an interrupted copy into a file of "
        "the full size does. The file loads, the server stays healthy, and the accept length falls",
        help="copy or download the draft again, and compare checksums",
        evidence=tuple(tensor_line(each.tensor, _stretch(each, run)) for each, run in holes[:SHOWN]),
        values={"tensors": names, "runs": [[run.begin, run.end] for _, run in holes]},
    )


def _stretch(values: TensorValues, run: Run) -> str:
    return f"values {run.begin:,} to {run.end - 1:,} of {values.count:,}"


RULE = Rule(
    id="EC820",
    slug="weights-with-holes",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.WEIGHTS, Need.DRAFT_TENSORS),
)
