"""EC405: the target's MLP and expert widths over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.division import uneven
from eaglecfg.rules.parallel.ranks import ranks, unsettled


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    assert ctx.target is not None
    assert ctx.target.config is not None
    config, shared = ctx.target.config, ranks(ctx)
    expert = config.integer("moe_intermediate_size")
    # Experts stay whole on their ranks under expert parallelism; what is left of the ranks cuts each of them.
    spread_over = ctx.model.parallel.ep_size or 1
    if ctx.argument("moe_a2a_backend") not in (None, "none"):
        spread_over = shared.tensor
    if shared.tensor <= 0 or spread_over <= 0 or shared.tensor % spread_over:
        yield NotApplicable()
        return
    if expert is not None:
        over = shared.tensor // spread_over
        if expert % over:
            yield uneven(ctx, "target", "moe_intermediate_size", expert, over, shared, "expert width")
        return
    width = config.integer("intermediate_size")
    if width is None or shared.groups > 1:
        yield NotApplicable()
    elif width % shared.tensor:
        yield uneven(ctx, "target", "intermediate_size", width, shared.tensor, shared, "MLP width")


RULE = Rule(
    id="EC405",
    slug="target-mlp",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.TARGET_CONFIG,),
    follows=("EC401", "EC408"),
    research=("TP-05",),
)
