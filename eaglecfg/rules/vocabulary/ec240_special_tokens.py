"""EC240: special token ids that the vocabulary does not have."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today

KEYS = ("bos_token_id", "eos_token_id", "pad_token_id")


def check(ctx: Context) -> Iterator[Item]:
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    draft, target = ctx.draft.config, ctx.target.config
    size = target.integer("vocab_size")
    if size is None:
        return
    outside: dict[str, list[int]] = {}
    for key in KEYS:
        value = draft.value(key)
        ids = value if isinstance(value, list) else [value]
        wrong = [i for i in ids if isinstance(i, int) and not isinstance(i, bool) and i >= size]
        if wrong:
            outside[key] = wrong
    if not outside:
        return
    spelled = " and ".join(f"{key} {', '.join(map(str, ids))}" for key, ids in outside.items())
    yield Finding(
        f"{draft.file} gives {spelled}, but the target's vocabulary of {size} ends at {size - 1}",
        path=ctx.where("draft", "checkpoint"),
        why="the config was made for another tokenizer; a draft trained on another vocabulary proposes "
        "wrong tokens",
        help=f"check that the draft was trained for {ctx.target.shown}, then write that model's token ids "
        f"into {draft.file}",
        evidence=(
            *(config_line(draft, key) for key in outside),
            config_line(target, "vocab_size", "target vocabulary"),
        ),
        values={"vocab_size": size, **outside},
    )


RULE = Rule(
    id="EC240",
    slug="special-tokens",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=("EC248", "EC250", "EC262", *UNLOADABLE),
    research=("VOC-18",),
)
