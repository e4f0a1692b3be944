"""An embedding in the draft's files that the target's takes the place of."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import by_plain_name, draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """A draft as wide as its target always runs on the target's table."""
    draft, own = draft_config(ctx), by_plain_name(ctx).get("embed_tokens.weight")
    wide, hidden = draft.integer("target_hidden_size"), draft.integer("hidden_size")
    if draft_class(ctx) is None or own is None or (wide is not None and wide != hidden):
        yield NotApplicable()
        return
    yield Finding(
        "the draft ships an embedding of its own, but SGLang replaces it by the target's",
        path=ctx.where("draft", "checkpoint"),
        why="harmless where it is a copy, as trainers write it; a table that was trained further is lost",
        help="nothing to do, unless the draft's embedding was trained; leaving it out makes the files "
        "smaller",
        evidence=(tensor_line(own, "loaded, then replaced"),),
        values={"embed_tokens": list(own.shape)},
    )


RULE = Rule(
    id="EC235",
    slug="own-embedding-replaced",
    severity=Severity.INFO,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC233", *UNLOADABLE),
    research=("VOC-14",),
)
