"""EC307: a tree without a number of draft tokens."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import asked, tree_tokens
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or shape.topk is None or shape.topk <= 1 or shape.steps is None or shape.steps < 1:
        yield NotApplicable()
        return
    if shape.tokens is not None:
        return
    most = tree_tokens(shape.steps, shape.topk)
    yield Finding(
        f"num_draft_tokens must be given for a tree of eagle_topk {shape.topk}, but is not",
        path=ctx.argument_path("speculative_eagle_topk"),
        why="SGLang does not choose it for trees and does not say so; it fails later with the number missing",
        help=f"add num_draft_tokens, between {shape.steps + 1} (one full branch) and {most} (the whole tree)",
        related=((ctx.argument_path("speculative_num_steps"), f"{shape.steps} steps"),),
        values={"num_steps": shape.steps, "eagle_topk": shape.topk},
    )


RULE = Rule(
    id="EC307",
    slug="draft-tokens-missing",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC309",),
    research=("ARG-03",),
)
