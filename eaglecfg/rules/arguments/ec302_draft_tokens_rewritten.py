"""EC302: a number of draft tokens that the engine replaces."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import settled


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or shape.steps is None or shape.tokens is None or shape.steps < 1:
        yield NotApplicable()
        return
    # Adaptive mode knows chains only, whether or not topk is written out.
    chain = shape.topk == 1 or (shape.adaptive and shape.topk is None)
    wanted = shape.steps + 1
    if not chain or shape.tokens == wanted:
        return
    path = ctx.argument_path("speculative_num_draft_tokens")
    yield Finding(
        f"SGLang will run num_draft_tokens = {wanted}, not {shape.tokens}",
        path=path,
        why="with eagle_topk 1 the draft is a chain, and a chain has num_steps + 1 tokens: the engine "
        "rewrites the number "
        "and says so in one log line",
        help=f"write num_draft_tokens: {wanted}, or more num_steps if you want longer drafts",
        related=(
            (ctx.argument_path("speculative_num_steps"), f"{shape.steps} steps"),
            (ctx.argument_path("speculative_eagle_topk"), "a chain, not a tree"),
        ),
        arithmetic=(f"num_steps + 1 = {shape.steps} + 1 = {wanted}",),
        values={"num_steps": shape.steps, "asked": shape.tokens, "runs": wanted},
        fix=Fix(f"set num_draft_tokens to {wanted}", path, str(wanted), safe=settled(ctx)),
    )


RULE = Rule(
    id="EC302",
    slug="draft-tokens-rewritten",
    severity=Severity.WARNING,
    today=Today.REWRITTEN,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC309", "EC318"),
    research=("ARG-04",),
)
