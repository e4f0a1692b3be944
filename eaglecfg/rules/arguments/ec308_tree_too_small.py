"""EC308: more draft tokens than the tree can offer."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import asked, tree_tokens
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import write


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or shape.steps is None or shape.topk is None or shape.tokens is None:
        yield NotApplicable()
        return
    if shape.steps < 1 or shape.topk <= 1:
        yield NotApplicable()
        return
    steps, topk = shape.steps, shape.topk
    most = tree_tokens(steps, topk)
    if shape.tokens <= most:
        return
    yield Finding(
        f"num_draft_tokens must be at most {most} for {steps} steps of eagle_topk {topk}, but is "
        f"{shape.tokens}",
        path=ctx.argument_path("speculative_num_draft_tokens"),
        why="SGLang picks the best num_draft_tokens - 1 candidates of the tree; torch.topk fails when "
        "there are fewer",
        help=f"write num_draft_tokens: {most} or less, or more num_steps",
        related=(
            (ctx.argument_path("speculative_num_steps"), f"{steps} steps"),
            (ctx.argument_path("speculative_eagle_topk"), f"{topk} branches a step"),
        ),
        arithmetic=(
            f"candidates: {topk} + {steps - 1} × {topk} × {topk} = {most - 1}, and the root makes {most}",
        ),
        fix=write(ctx, "speculative_num_draft_tokens", most),
        values={"num_steps": steps, "eagle_topk": topk, "num_draft_tokens": shape.tokens, "most": most},
    )


RULE = Rule(
    id="EC308",
    slug="tree-too-small",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-05",),
)
