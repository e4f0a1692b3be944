"""EC319: adaptive steps started at a number that is no candidate."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import adaptive_steps, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or not shape.adaptive or shape.steps is None:
        yield NotApplicable()
        return
    if ctx.argument("speculative_adaptive_config") is not None:
        yield NotChecked("the candidates come from speculative_adaptive_config, which is not read")
        return
    candidates = adaptive_steps(ctx)
    if not candidates or shape.steps in candidates:
        return
    spelled = ", ".join(map(str, candidates))
    yield Finding(
        f"num_steps must be one of {spelled} with speculative_adaptive, but is {shape.steps}",
        path=ctx.argument_path("speculative_num_steps"),
        why="SGLang switches between these candidates and refuses to start at another number",
        help=f"write num_steps: {max((c for c in candidates if c <= shape.steps), default=candidates[0])}, "
        "or name your own candidates in speculative_adaptive_config",
        related=((ctx.argument_path("speculative_adaptive"), "adaptive steps are on"),),
        values={"num_steps": shape.steps, "candidates": list(candidates)},
    )


RULE = Rule(
    id="EC319",
    slug="adaptive-steps",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301", "EC318"),
    research=("ARG-19",),
)
