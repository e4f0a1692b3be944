"""EC242: a reduced draft vocabulary without the map back to target ids."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, missing_tensor
from eaglecfg.rules.files.problems import weights_unread
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import draft_vocabulary, loaded_name


def check(ctx: Context) -> Iterator[Item]:
    vocabulary = draft_vocabulary(ctx)
    if vocabulary is None or not vocabulary.reduced:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    if loaded_name(ctx, "d2t", ctx.draft.names or ()) is not None:
        return
    if weights_unread(ctx.draft):
        yield NotChecked("some of the draft's weight files could not be read")
        return
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    yield Finding(
        f"the draft has {vocabulary.rows} of the target's {vocabulary.target} tokens, but no d2t tensor "
        "says which",
        path=ctx.where("draft", "checkpoint"),
        why="SGLang then takes draft ids for target ids: nearly every proposal is another token",
        help="ship the d2t tensor (target id minus draft id, one entry for each draft token) in the "
        "draft's weights",
        evidence=(
            config_line(ctx.draft.config, "draft_vocab_size", "rows of the draft's head"),
            config_line(ctx.target.config, "vocab_size", "target vocabulary"),
            missing_tensor(ctx.draft, "d2t", "draft id -> target id"),
        ),
        values={"draft_vocab_size": vocabulary.rows, "vocab_size": vocabulary.target},
    )


RULE = Rule(
    id="EC242",
    slug="d2t-missing",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG, Need.DRAFT_NAMES),
    follows=("EC238", "EC241", "EC248", *UNLOADABLE),
    research=("VOC-03",),
)
