"""Coordinated prefill without the algorithms that it is for."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.numerals import engine_switch
from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import without

NAME = "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION"


def check(ctx: Context) -> Iterator[Item]:
    """The variable is refused where another algorithm runs, or none."""
    assert ctx.engine is not None
    allowed, value = ctx.engine.values.get("prefill_coordination"), ctx.variable(NAME)
    if allowed is None or value is None or not engine_switch(value):
        yield NotApplicable()
        return
    name = algorithm(ctx)
    # NEXTN is another name for EAGLE, which the engine has put in place by then.
    layers = ctx.argument("enable_multi_layer_eagle") is True
    if name in {*allowed, "NEXTN"} and not layers:
        return
    runs = "enable_multi_layer_eagle" if layers else f"algorithm {name}" if name else "no speculation"
    yield Finding(
        f"{NAME} goes with {' or '.join(allowed)} alone, but {runs} is set",
        path=ctx.where("env", NAME),
        why="SGLang stops while it reads its arguments",
        help=f"remove {NAME} from env",
        evidence=(
            Evidence(
                f"sglang {ctx.engine.facts_of}", NAME, ctx.engine.sources.get("prefill_coordination", "")
            ),
        ),
        fix=without(ctx, "env", NAME),
        values={NAME: value, "algorithm": name},
    )


RULE = Rule(
    id="EC336",
    slug="prefill-coordination",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC327", "EC510"),
    research=("PAR-06",),
)
