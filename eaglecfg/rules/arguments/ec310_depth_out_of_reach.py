"""EC310: draft steps whose tokens can never be verified."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import write


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or shape.steps is None or shape.topk is None or shape.tokens is None or shape.topk <= 1:
        yield NotApplicable()
        return
    deepest = shape.tokens - 1
    if shape.tokens >= shape.steps + 1 or shape.tokens < 2:
        return
    yield Finding(
        f"num_draft_tokens {shape.tokens} reaches depth {deepest} at most, but num_steps drafts "
        f"{shape.steps} deep",
        path=ctx.argument_path("speculative_num_draft_tokens"),
        why="the deeper draft steps are computed for every verify and thrown away",
        help=f"write num_draft_tokens: {shape.steps + 1} or more, or num_steps: {deepest}",
        related=((ctx.argument_path("speculative_num_steps"), f"{shape.steps} steps"),),
        arithmetic=(
            f"root + {deepest} = {shape.tokens} tokens; a branch of {shape.steps} needs {shape.steps + 1}",
        ),
        fix=write(ctx, "speculative_num_steps", deepest),
        values={"num_steps": shape.steps, "num_draft_tokens": shape.tokens},
    )


RULE = Rule(
    id="EC310",
    slug="depth-out-of-reach",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-07",),
)
