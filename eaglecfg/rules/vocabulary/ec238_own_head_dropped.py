"""A null draft_vocab_size beside a head in the files."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import draft_has, draft_tensor, draft_vocabulary


def check(ctx: Context) -> Iterator[Item]:
    """A draft that borrows the target's head has no use for one of its own."""
    vocabulary = draft_vocabulary(ctx)
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    if vocabulary is None or not vocabulary.borrowed or vocabulary.tied:
        yield NotApplicable()
        return
    if not draft_has(ctx, "lm_head.weight"):
        return
    head, mapped = draft_tensor(ctx, "lm_head.weight"), draft_has(ctx, "d2t")
    rows = head.shape[0] if head is not None and head.shape else None
    reduced = rows is not None and vocabulary.target is not None and rows < vocabulary.target
    absent = vocabulary.declared is None
    state = "is absent" if absent else "is null"
    yield Finding(
        f"draft_vocab_size {state}, which borrows the target's head, but the draft ships lm_head.weight"
        + (f" of {rows} rows" if rows is not None else ""),
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.ERROR if reduced or mapped else None,
        why="the trained head is dropped without a word; "
        + (
            "the target's head has other rows than the draft's vocabulary, so that proposals become other "
            "tokens"
            if reduced or mapped
            else "the draft then proposes through weights that it was not trained with, unless the head is "
            "a copy"
        ),
        help=f'write "draft_vocab_size": {rows} into {ctx.draft.config.file} to use the draft\'s own head'
        if rows is not None
        else f"write the rows of lm_head as draft_vocab_size into {ctx.draft.config.file}",
        evidence=(
            *((tensor_line(head, "dropped"),) if head is not None else ()),
            config_line(ctx.draft.config, "draft_vocab_size", "borrow the target's head"),
        ),
        values={"draft_vocab_size": None, "lm_head_rows": rows},
    )


RULE = Rule(
    id="EC238",
    slug="own-head-dropped",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=("EC239", *UNLOADABLE),
    research=("VOC-02",),
)
