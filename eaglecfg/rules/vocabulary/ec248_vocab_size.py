"""EC248: draft and target disagree about the target's vocabulary."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import draft_vocabulary, padded_rows


def check(ctx: Context) -> Iterator[Item]:
    vocabulary = draft_vocabulary(ctx)
    if vocabulary is None or vocabulary.own is None or vocabulary.target is None:
        yield NotApplicable()
        return
    own, target = vocabulary.own, vocabulary.target
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    # A draft of another width keeps its own table, so that nothing is shared that could be cut differently.
    width, hidden = ctx.draft.config.integer("target_hidden_size"), ctx.draft.config.integer("hidden_size")
    if own == target or (width is not None and width != hidden):
        return
    ranks = ctx.model.parallel.tp_size
    parts = [padded_rows(size, ranks) // ranks for size in (own, target)] if ranks > 0 else [own, target]
    shifted = ranks > 1 and parts[0] != parts[1]
    if not shifted and own < target and ranks > 1:
        return
    yield Finding(
        f"vocab_size must be {target} in the draft as in the target, but {ctx.draft.config.file} says {own}",
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.ERROR if shifted else Severity.WARNING,
        why=(
            "the draft cuts the shared embedding at its own padded vocabulary but holds the target's shard: "
            "ranks above 0 read other tokens' rows"
            if shifted
            else "the draft's table is replaced by the target's; a vocabulary of another size suggests "
            "another tokenizer"
        ),
        help=f'write "vocab_size": {target} into {ctx.draft.config.file} if the draft was trained for '
        f"{ctx.target.shown}",
        evidence=(
            config_line(ctx.draft.config, "vocab_size", "draft"),
            config_line(ctx.target.config, "vocab_size", "target"),
        ),
        related=((ctx.where("parallel", "tp_size"), "ranks that share the embedding"),) if shifted else (),
        arithmetic=tuple(
            f"{name}: {size} padded to {part * ranks}, ÷ {ranks} ranks = {part} rows a rank"
            for name, size, part in zip(("draft", "target"), (own, target), parts, strict=True)
        )
        if shifted
        else (),
        values={"draft": own, "target": target, "tp_size": ranks},
    )


RULE = Rule(
    id="EC248",
    slug="vocab-size",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=UNLOADABLE,
    research=("VOC-10", "VOC-11"),
)
