"""EC408: tensor-parallel ranks must divide into the attention groups."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import divisors, ranks, unsettled


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    shared = ranks(ctx)
    if shared.tensor < 1 or shared.groups < 1:
        number, key = (shared.tensor, "tp_size") if shared.tensor < 1 else (shared.groups, shared.key)
        yield Finding(
            f"{key} must be at least 1, but is {number}",
            path=ctx.where("parallel", key),
            why="SGLang stops while it reads its arguments",
            help=f"set {key} to the number of ranks, or leave it out",
            values={key: number},
        )
        return
    if shared.groups == 1:
        yield NotApplicable()
    elif not shared.exact:
        fits = " or ".join(str(n) for n in divisors(shared.tensor, shared.tensor))
        yield Finding(
            f"tp_size {shared.tensor} must be a multiple of {shared.key} {shared.groups} under "
            "data-parallel attention",
            path=shared.path,
            why="each attention group gets tp_size ÷ groups ranks; SGLang stops with an assertion while it "
            "reads its arguments",
            help=f"set {shared.key} to {fits}",
            related=((ctx.where("parallel", "tp_size"), f"{shared.tensor} ranks"),),
            arithmetic=(
                f"{shared.tensor} ÷ {shared.groups} = {shared.tensor // shared.groups}, "
                f"remainder {shared.tensor % shared.groups}",
            ),
            values={"tp_size": shared.tensor, shared.key: shared.groups},
        )


RULE = Rule(
    id="EC408",
    slug="attention-groups",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    research=("TP-07",),
)
