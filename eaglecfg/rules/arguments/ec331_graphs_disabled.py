"""Speculation without CUDA graphs."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out


def check(ctx: Context) -> Iterator[Item]:
    """Decode should run in CUDA graphs where a draft runs several short steps for each verify."""
    if algorithm(ctx) not in EAGLE_FAMILY or ctx.argument("disaggregation_mode") == "prefill":
        yield NotApplicable()  # a server for prefill alone decodes nothing
        return
    assert ctx.resolution is not None
    if ctx.resolution.graphs:
        return
    from eaglecfg.engines.decode_graphs import CONFIG, switched_off

    off = switched_off(ctx.resolution)
    if off is None:
        return
    spread = off.flag == "deepep_mode"  # the one that somebody may want for its own sake
    yield Finding(
        f"{off.shown} runs every draft step without CUDA graphs",
        path=ctx.argument_path(off.flag),
        why="draft steps are short, and without graphs launching them can cost more than they save",
        help="write deepep_mode: auto or low_latency, which keep the graphs"
        if spread
        else f"leave out {off.flag} outside of debugging",
        evidence=(Evidence(f"sglang {ctx.resolution.facts.facts_of}", off.flag, off.source),)
        if off.source
        else (),
        fix=None if spread or off.flag in (CONFIG, "enable_mis") else leave_out(ctx, off.flag),
        values={off.flag: ctx.argument(off.flag)},
    )


RULE = Rule(
    id="EC331",
    slug="graphs-disabled",
    severity=Severity.INFO,
    today=Today.SLOWER,
    check=check,
    needs=(Need.ENGINE,),
)
