"""EC406: the draft's MLP width over the ranks."""

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
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config, shared = ctx.draft.config, ranks(ctx)
    # The Llama draft class takes this key for its MLP where model_type says so.
    key = "intermediate_size_mlp" if config.value("model_type") == "llama4_text" else "intermediate_size"
    width = config.integer(key)
    if width is None or shared.tensor <= 0 or shared.groups > 1:
        yield NotApplicable()
    elif width % shared.tensor:
        yield uneven(ctx, "draft", key, width, shared.tensor, shared, "MLP width")


RULE = Rule(
    id="EC406",
    slug="draft-mlp",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.DRAFT_CONFIG,),
    follows=("EC402", "EC408", *UNLOADABLE),
    research=("TP-05",),
)
