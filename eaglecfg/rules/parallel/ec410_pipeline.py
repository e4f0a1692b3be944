"""EC410: speculation with EAGLE-3 over pipeline stages."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.record import replace
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give, write


def check(ctx: Context) -> Iterator[Item]:
    stages = ctx.model.parallel.pp_size or 1
    if not ctx.speculates or stages <= 1:
        yield NotApplicable()
        return
    assert ctx.engine is not None
    algorithm = ctx.argument("speculative_algorithm") or "EAGLE3"
    yield Finding(
        f"{algorithm} needs pp_size 1, but pp_size is {stages}",
        path=ctx.where("parallel", "pp_size"),
        why=f"sglang {ctx.engine.version} asserts that pipeline stages and {algorithm} are not used together",
        help=f"set pp_size to 1 and spread the model with tp_size {stages * ctx.model.parallel.tp_size}",
        related=((ctx.where("speculative", "algorithm"), "speculation is on"),),
        fix=_fix(ctx, stages),
        values={"pp_size": stages, "algorithm": algorithm},
    )


def _fix(ctx: Context, stages: int) -> Fix | None:
    """All ranks as tensor-parallel ones."""
    one = write(ctx, "pp_size", 1)
    if one is None:
        return None
    wanted = stages * ctx.model.parallel.tp_size
    more = write(ctx, "tp_size", wanted) or give(ctx, ("parallel", "tp_size"), wanted)
    return replace(one, title=f"{one.title}, tp_size to {wanted}", also=(more,))


RULE = Rule(
    id="EC410",
    slug="pipeline-stages",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    research=("PAR-01",),
)
