"""EC249: t2d does not fit the vocabularies that it connects."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import draft_tensor, draft_vocabulary


def check(ctx: Context) -> Iterator[Item]:
    vocabulary = draft_vocabulary(ctx)
    tensor = draft_tensor(ctx, "t2d")
    if vocabulary is None or tensor is None or vocabulary.target is None or vocabulary.rows is None:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    why = "SGLang ignores t2d, but a t2d that does not fit was saved with another head or map than these"
    help_ = "take lm_head, d2t and t2d from the same training run"
    marks = ctx.draft.vocabulary.t2d
    if tensor.shape != (vocabulary.target,):
        size = tensor.shape[0] if len(tensor.shape) == 1 else list(tensor.shape)
        yield Finding(
            f"t2d must have {vocabulary.target} entries, one for each target token, but has {size}",
            path=ctx.where("draft", "checkpoint"),
            why=why,
            help=help_,
            evidence=(tensor_line(tensor), config_line(ctx.target.config, "vocab_size", "target vocabulary")),
            values={"t2d": list(tensor.shape), "vocab_size": vocabulary.target},
        )
    elif marks is not None and (count := len(marks) - marks.count(0)) != vocabulary.rows:
        key = "vocab_size" if vocabulary.borrowed else "draft_vocab_size"
        yield Finding(
            f"t2d must mark {vocabulary.rows} tokens, one for each draft token, but marks {count}",
            path=ctx.where("draft", "checkpoint"),
            why=why,
            help=help_,
            evidence=(
                tensor_line(tensor, f"{count} entries are true"),
                config_line(ctx.draft.config, key, "rows of the draft's head"),
            ),
            values={"marks": count, key: vocabulary.rows},
        )


RULE = Rule(
    id="EC249",
    slug="t2d-marks",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC238", "EC241", "EC243", "EC244", "EC245", "EC246", "EC247", "EC248", *UNLOADABLE),
    research=("VOC-06",),
)
