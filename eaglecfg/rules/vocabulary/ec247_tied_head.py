"""EC247: tie_word_embeddings makes the target's embedding the draft's head."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.config_classes import tied
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import left_by, left_to_the_class
from eaglecfg.rules.vocabulary.facts import draft_tensor, draft_vocabulary


def check(ctx: Context) -> Iterator[Item]:
    vocabulary = draft_vocabulary(ctx)
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    if vocabulary is None or not vocabulary.tied:
        unknown = vocabulary is not None and tied(ctx.draft.config) is None
        absent = left_to_the_class(ctx.draft.config, "tie_word_embeddings") if unknown else None
        yield absent or NotApplicable()
        return
    config, head = ctx.draft.config, draft_tensor(ctx, "lm_head.weight")
    if not vocabulary.reduced and head is None:
        return
    left = left_by(config, "tie_word_embeddings")
    says = f"does not say so, and it is true then{left}" if left else "says true"
    owns = "a head of its own" if head is not None else f"a reduced vocabulary of {vocabulary.rows}"
    yield Finding(
        f"tie_word_embeddings must be false for a draft with {owns}, but {config.file} {says}",
        path=ctx.where("draft", "checkpoint"),
        severity=None if vocabulary.reduced else Severity.WARNING,
        why=(
            f"SGLang takes the shared embedding of {vocabulary.target} rows for the head and cuts its "
            f"logits to the first {vocabulary.rows}"
            if vocabulary.reduced
            else "SGLang takes the shared embedding for the head and drops the trained one"
        ),
        help=f'write "tie_word_embeddings": false into {config.file}',
        evidence=(
            config_line(config, "tie_word_embeddings"),
            config_line(config, "draft_vocab_size"),
            *([tensor_line(head, "never loaded")] if head is not None else []),
        ),
        values={"draft_vocab_size": vocabulary.rows, "vocab_size": vocabulary.target},
    )


RULE = Rule(
    id="EC247",
    slug="tied-head",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=UNLOADABLE,
    research=("VOC-09",),
)
