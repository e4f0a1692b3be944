"""EC407: the MLA draft cuts its fusion layer over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.division import uneven
from eaglecfg.rules.parallel.ranks import ranks, unsettled


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config, shared = ctx.draft.config, ranks(ctx)
    fact, hidden = ctx.engine.drafts.get(config.architecture or ""), config.integer("hidden_size")
    if fact is None or not fact.fc_split or hidden is None or not shared.exact:
        yield NotApplicable()
    elif hidden % shared.attention:
        yield uneven(ctx, "draft", "hidden_size", hidden, shared.attention, shared, "fusion layer output")


RULE = Rule(
    id="EC407",
    slug="mla-fusion",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC402", "EC408", *UNLOADABLE),
    research=("TP-06",),
)
