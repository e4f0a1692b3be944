"""EC412: a target that keeps its whole embedding on every rank shares it with a draft that expects a
shard."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks


def check(ctx: Context) -> Iterator[Item]:
    shared = ranks(ctx)
    assert ctx.engine is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    architecture = ctx.target.config.architecture
    known = ctx.engine.values.get("replicated_embedding", {})
    if not ctx.speculates or shared.groups < 2 or shared.attention < 2 or architecture not in known:
        yield NotApplicable()
        return
    source = known[architecture]
    yield Finding(
        f"{architecture} keeps its whole embedding (embed_tokens) on every rank under data-parallel "
        "attention, "
        f"but the draft reads it as one of {shared.attention} shards",
        path=shared.path,
        why="rows of the shared table do not match the draft's token ranges, so that other tokens' "
        "embeddings are read; "
        "this follows from the code and was not seen in a run",
        help=f"set {shared.key} to {shared.tensor}, so that each attention group has one rank, and compare "
        "accept lengths",
        evidence=(
            Evidence(
                f"sglang {ctx.engine.facts_of}", str(architecture), source, "whole table under DP attention"
            ),
        ),
        related=((ctx.where("parallel", "tp_size"), f"{shared.tensor} ranks"),),
        arithmetic=(f"{shared.tensor} ÷ {shared.groups} = {shared.attention} ranks in each attention group",),
        values={"architecture": architecture, "attention_ranks": shared.attention},
    )


RULE = Rule(
    id="EC412",
    slug="replicated-embedding",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC408",),
    research=("VOC-16",),
)
