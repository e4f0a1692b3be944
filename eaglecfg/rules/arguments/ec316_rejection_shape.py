"""EC316: rejection sampling with a tree or with acceptance thresholds."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.ec315_rejection_vocabulary import FLAGS
from eaglecfg.rules.arguments.ec317_lossy_acceptance import THRESHOLDS
from eaglecfg.rules.arguments.shape import algorithm, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out, write


def check(ctx: Context) -> Iterator[Item]:
    flag = next((name for name in FLAGS if ctx.argument(name) is True), None)
    shape = asked(ctx)
    if flag is None or shape is None:
        yield NotApplicable()
        return
    threshold = next((name for name in THRESHOLDS if ctx.argument(name) not in (None, 1, 1.0)), None)
    if threshold is not None:
        yield Finding(
            f"{threshold} must stay 1.0 together with {flag}, but is {ctx.argument(threshold)}",
            path=ctx.argument_path(threshold),
            why="rejection sampling decides by itself what is accepted; SGLang stops while it reads its "
            "arguments",
            help=f"leave out {threshold}, or {flag}",
            related=((ctx.argument_path(flag), "rejection sampling is on"),),
            fix=leave_out(ctx, threshold),
            values={threshold: ctx.argument(threshold)},
        )
        return
    topk = shape.topk
    if shape.open and ctx.resolution is not None and not shape.adaptive:
        topk = ctx.resolution.runs("speculative_eagle_topk")
    if isinstance(topk, int) and topk != 1:
        chosen = " (chosen by the engine for this target)" if shape.open else ""
        yield Finding(
            f"eagle_topk must be 1 together with {flag}, but is {topk}{chosen}",
            path=ctx.argument_path("speculative_eagle_topk" if not shape.open else flag),
            why=f"rejection sampling works on chains; {algorithm(ctx)} stops while SGLang reads its "
            "arguments",
            help="write num_steps and eagle_topk: 1",
            related=((ctx.argument_path(flag), "rejection sampling is on"),),
            fix=write(ctx, "speculative_eagle_topk", 1),
            values={"eagle_topk": topk},
        )


RULE = Rule(
    id="EC316",
    slug="rejection-shape",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("ARG-16",),
)
