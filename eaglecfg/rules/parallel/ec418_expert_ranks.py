"""EC418: expert-parallel ranks must divide the tensor-parallel ones."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import divisors, unsettled

REWRITES = ("moe_a2a_backend", "enable_deepep_moe", "elastic_ep_backend", "moe_dp_size")
"""Flags under which the engine sets ep_size itself, or shares the experts out in another way."""


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    experts, tensor = ctx.argument("ep_size"), ctx.model.parallel.tp_size
    given = any(ctx.argument(name) not in (None, False, "none", 1) for name in REWRITES)
    given = given or any("context_parallel" in name for name in ctx.arguments or ())
    if not isinstance(experts, int) or isinstance(experts, bool) or given or tensor < 1:
        yield NotApplicable()
        return
    if experts >= 1 and tensor % experts == 0:
        return
    fits = " or ".join(str(n) for n in divisors(tensor, tensor))
    if experts < 1:
        problem = f"ep_size must be at least 1, but is {experts}"
    elif experts > tensor:
        problem = f"ep_size {experts} is larger than tp_size {tensor}"
    else:
        problem = f"ep_size {experts} does not divide tp_size {tensor}"
    yield Finding(
        problem,
        path=ctx.argument_path("ep_size"),
        why="experts are spread over the tensor-parallel ranks, tp_size ÷ ep_size of which share one part: "
        + (
            "SGLang divides by that number, which is 0 here, and stops"
            if experts > tensor
            else "SGLang stops while it forms its groups of ranks"
        ),
        help=f"set ep_size to {fits}",
        related=((ctx.where("parallel", "tp_size"), f"{tensor} ranks"),),
        arithmetic=(f"{tensor} ÷ {experts} = {tensor // experts}, remainder {tensor % experts}",)
        if experts >= 1
        else (),
        values={"tp_size": tensor, "ep_size": experts},
    )


RULE = Rule(
    id="EC418",
    slug="expert-ranks",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC408",),
)
