"""EC241: the key that the draft class reads without a default."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import draft_tensor


def check(ctx: Context) -> Iterator[Item]:
    """The key must be there, if only as null."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    fact = ctx.engine.drafts.get(config.architecture or "")
    if fact is None or "draft_vocab_size" not in fact.required_keys:
        yield NotApplicable()
        return
    # A tied head is taken before the key is looked at, but the logits processor reads it all the same.
    if config.find("draft_vocab_size") is not None:
        return
    head = draft_tensor(ctx, "lm_head.weight")
    rows = head.shape[0] if head is not None and head.shape else None
    advice = f'"draft_vocab_size": {rows}' if rows is not None else '"draft_vocab_size": null'
    yield Finding(
        f"{config.file} has no draft_vocab_size, which {config.architecture} reads without a default",
        path=ctx.where("draft", "checkpoint"),
        why="SGLang stops with an AttributeError while it builds the draft",
        help=f"add {advice} to {config.file} (null borrows the target's head)",
        evidence=(
            config_line(config, "draft_vocab_size"),
            *([tensor_line(head, f"the draft's own head has {rows} rows")] if head is not None else []),
        ),
        values={"draft_vocab_size": None, "lm_head_rows": rows},
    )


RULE = Rule(
    id="EC241",
    slug="draft-vocab-size-missing",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("VOC-01",),
)
