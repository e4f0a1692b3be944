"""The length and kind of d2t."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import draft_tensor, draft_vocabulary


def check(ctx: Context) -> Iterator[Item]:
    vocabulary = draft_vocabulary(ctx)
    tensor = draft_tensor(ctx, "d2t")
    if vocabulary is None or tensor is None or vocabulary.rows is None:
        yield NotApplicable()
        return
    if not tensor.dtype.startswith(("I", "U")):
        yield _not_whole(ctx, tensor)
        return
    if tensor.shape == (vocabulary.rows,):
        return
    head = draft_tensor(ctx, "lm_head.weight")
    if (
        not vocabulary.borrowed
        and not vocabulary.tied
        and head is not None
        and tensor.shape == head.shape[:1]
    ):
        yield NotApplicable()  # map and head agree; the rule about the head says that the config does not
        return
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    found = tensor.shape[0] if len(tensor.shape) == 1 else list(tensor.shape)
    key = "vocab_size" if vocabulary.borrowed else "draft_vocab_size"
    short = isinstance(found, int) and found < vocabulary.rows
    yield Finding(
        f"d2t must have {vocabulary.rows} entries, one for each draft token, but has {found}",
        path=ctx.where("draft", "checkpoint"),
        why=(
            f"draft ids {found} to {vocabulary.rows - 1} have no target id: an index error or wrong tokens "
            "when one is drafted"
            if short
            else "map and head were made for different vocabularies, so that proposals become other tokens"
        ),
        help=f"take d2t and lm_head from the same training run, or correct {key} in {ctx.draft.config.file}",
        evidence=(tensor_line(tensor), config_line(ctx.draft.config, key, "rows of the draft's head")),
        values={"d2t": list(tensor.shape), key: vocabulary.rows},
    )


def _not_whole(ctx: Context, tensor: TensorFact) -> Finding:
    return Finding(
        f"d2t must hold whole numbers (I64), but is {tensor.dtype}",
        path=ctx.where("draft", "checkpoint"),
        why="token ids are looked up with the map; an index of another kind is an error at the first draft "
        "step",
        help="save d2t as int64",
        evidence=(tensor_line(tensor),),
        values={"dtype": tensor.dtype},
    )


RULE = Rule(
    id="EC243",
    slug="d2t-shape",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC238", "EC241", *UNLOADABLE),
    research=("VOC-04",),
)
