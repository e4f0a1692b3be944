"""Two-batch overlap, whose layer loop captures no states."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.refused import stops
from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out

FLAG = "enable_two_batch_overlap"


def check(ctx: Context) -> Iterator[Item]:
    """A target must not run the layers that an EAGLE-3 draft reads under two-batch overlap."""
    assert ctx.engine is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    architecture = ctx.target.config.architecture or ""
    if ctx.argument(FLAG) is not True or algorithm(ctx) != "EAGLE3" or not ctx.speculates:
        yield NotApplicable()
        return
    if stops(ctx, FLAG):
        return  # EC350: it does not get as far as a request
    source = ctx.engine.values.get("two_batch_overlap_loses_states", {}).get(architecture)
    if source is None:
        return
    yield Finding(
        f"{FLAG} runs the layers of {architecture} in a loop that captures no states for the draft",
        path=ctx.argument_path(FLAG),
        why="batches that are overlapped hand over fewer states than fc takes: a crash once the load is high "
        "enough to overlap; this follows from the code and was not seen in a run",
        help=f"leave out {FLAG} together with EAGLE3",
        evidence=(
            Evidence(f"sglang {ctx.engine.facts_of}", architecture, source, "no capture in this loop"),
        ),
        related=((ctx.argument_path("speculative_algorithm"), "EAGLE3"),),
        fix=leave_out(ctx, FLAG),
        values={FLAG: True, "architecture": architecture},
    )


RULE = Rule(
    id="EC415",
    slug="two-batch-overlap",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC301",),
    research=("PAR-02",),
)
