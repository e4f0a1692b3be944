"""EC306: steps without topk."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import adaptive_steps, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or shape.steps is None:
        yield NotApplicable()
        return
    # Adaptive mode fills topk in where this version does so before the comparison.
    if shape.topk is not None or (shape.adaptive and adaptive_steps(ctx)):
        return
    yield Finding(
        f"eagle_topk must be given together with num_steps {shape.steps}, but is not",
        path=ctx.argument_path("speculative_num_steps"),
        why="SGLang compares the missing number with 1: a TypeError while it reads its arguments",
        help="add eagle_topk: 1 for a chain",
        fix=give(ctx, ("speculative", "eagle_topk"), 1),
        values={"num_steps": shape.steps},
    )


RULE = Rule(
    id="EC306",
    slug="topk-missing",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-02",),
)
