"""EC411: fewer key and value heads than ranks, so that each rank keeps a copy."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks, spread, unsettled


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    shared, found = ranks(ctx), False
    for role, facts in (("target", ctx.target), ("draft", ctx.draft if ctx.speculates else None)):
        if facts is None or facts.config is None or facts.config.integer("kv_lora_rank") is not None:
            continue
        heads = facts.config.integer("num_key_value_heads")
        if heads is None or heads < 1 or not shared.exact or not spread(heads, shared.attention):
            continue
        found = True
        copies = shared.attention // heads if heads < shared.attention else 1
        if copies > 1:
            yield Finding(
                f"the {role}'s {heads} key/value head{'s are' if heads > 1 else ' is'} kept {copies} times "
                f"over {shared.label}",
                path=ctx.where("parallel", "tp_size"),
                why="SGLang replicates them, so that the key/value cache of a rank stops shrinking with "
                "more ranks",
                help="nothing to do; with data-parallel attention each copy would hold other requests",
                evidence=(config_line(facts.config, "num_key_value_heads"),),
                arithmetic=(f"{shared.attention} ÷ {heads} = {copies} copies",),
                values={"num_key_value_heads": heads, "ranks": shared.attention},
            )
    if not found:
        yield NotApplicable()


RULE = Rule(
    id="EC411",
    slug="replicated-kv-heads",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.TARGET_CONFIG,),
    follows=("EC401", "EC402"),
    research=("TP-04",),
)
