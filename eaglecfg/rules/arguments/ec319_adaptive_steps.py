"""EC319: adaptive steps started at a number that is no candidate."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.record import replace
from eaglecfg.rules.arguments.shape import adaptive_steps, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.remedies import write


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
    wanted = max((c for c in candidates if c <= shape.steps), default=candidates[0])
    yield Finding(
        f"num_steps must be one of {spelled} with speculative_adaptive, but is {shape.steps}",
        path=ctx.argument_path("speculative_num_steps"),
        why="SGLang switches between these candidates and refuses to start at another number",
        help=f"write num_steps: {wanted}, or name your own candidates in speculative_adaptive_config",
        related=((ctx.argument_path("speculative_adaptive"), "adaptive steps are on"),),
        fix=_fix(ctx, wanted),
        values={"num_steps": shape.steps, "candidates": list(candidates)},
    )


def _fix(ctx: Context, steps: int) -> Fix | None:
    """The steps, and the tokens of a chain that follow from them."""
    fix, tokens = write(ctx, "speculative_num_steps", steps), ctx.argument("speculative_num_draft_tokens")
    more = write(ctx, "speculative_num_draft_tokens", steps + 1) if tokens != steps + 1 else None
    return replace(fix, also=(more,)) if fix is not None and more is not None else fix


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
