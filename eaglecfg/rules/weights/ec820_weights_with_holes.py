"""A stretch of zeros in the middle of a weight: bytes that were never written."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.values import TensorValues
from eaglecfg.checkpoint.zero_runs import Run
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.weights.missing_rows import Gap, gaps
from eaglecfg.rules.weights.reading import undecided

SHOWN = 6


def check(ctx: Context) -> Iterator[Item]:
    """No matrix may have a run of zeros over more than a row that begins or ends within one, nor rows of
    zeros in its middle that are whole blocks of the file, or a large part of the vocabulary."""
    assert ctx.values is not None
    yield from undecided(ctx)
    holes = [(each, run) for each in ctx.values.tensors.values() for run in each.zero_runs if run.ragged]
    if holes:
        yield _ragged(ctx, holes)
    found = list(gaps(ctx))
    for blocks in (True, False):
        these = [gap for gap in found if bool(gap.block) == blocks]
        if these:
            yield _rows(ctx, these)


def _ragged(ctx: Context, holes: list[tuple[TensorValues, Run]]) -> Finding:
    names = list(dict.fromkeys(each.tensor.name for each, _ in holes))
    if len(holes) == 1:
        each, run = holes[0]
        message = f"{_stretch(each, run)} of the draft's {names[0]} are zero, from within one row to another"
    elif len(names) == 1:
        message = (
            f"{len(holes):,} stretches of the draft's {names[0]} are zero, from within one row to another"
        )
    else:
        message = (
            f"{len(names):,} tensors of the draft have stretches of zeros across their rows: {listed(names)}"
        )
    return Finding(
        message,
        ctx.where("draft", "checkpoint"),
        why="no training, pruning or padding leaves zeros across rows; an interrupted copy into a file of "
        "the full size does. The file loads, the server stays healthy, and the accept length falls",
        help="copy or download the draft again, and compare checksums",
        evidence=tuple(tensor_line(each.tensor, _stretch(each, run)) for each, run in holes[:SHOWN]),
        values={
            "tensors": [each.tensor.name for each, _ in holes],
            "runs": [[run.begin, run.end] for _, run in holes],
        },
    )


def _stretch(values: TensorValues, run: Run) -> str:
    return f"values {run.begin:,} to {run.end - 1:,} of {values.count:,}"


def _rows(ctx: Context, found: list[Gap]) -> Finding:
    first, names = found[0], list(dict.fromkeys(gap.tensor.name for gap in found))
    if len(found) == 1:
        message = f"{first.which} of the draft's {names[0]} are zero, and those before and after are not"
    else:
        message = f"rows of zeros stand in the middle of {listed(names)} of the draft"
    if first.block:
        message += (
            f": exactly {first.blocks} of its file" if len(found) == 1 else ": whole blocks of its file"
        )
        why = (
            "padding is at the end, and pruning keeps to heads and rows, not to blocks of the file; an "
            "interrupted copy into a file of the full size leaves such blocks. The file loads, the server "
            "stays healthy, and the accept length falls"
        )
    else:
        why = (
            "each of these tokens gets the score 0 whatever comes before, so that the draft hardly proposes "
            "them; padding is at the end, and no vocabulary sets as many tokens aside in its middle"
        )
    return Finding(
        message,
        ctx.where("draft", "checkpoint"),
        severity=Severity.WARNING,
        why=why,
        help="compare the checksum with that of the source; copy, download or export the draft again",
        evidence=tuple(tensor_line(gap.tensor, gap.note) for gap in found[:SHOWN]),
        values={
            "tensors": [gap.tensor.name for gap in found],
            "rows": [[gap.first, gap.last] for gap in found],
        },
    )


RULE = Rule(
    id="EC820",
    slug="weights-with-holes",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.WEIGHTS,),
)
