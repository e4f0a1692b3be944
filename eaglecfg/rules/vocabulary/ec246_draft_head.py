"""EC246: the draft's own head is missing, or has another number of rows than the engine builds."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.facts import DraftFact
from eaglecfg.engines.naming import wrapped
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, missing_tensor, tensor_line
from eaglecfg.rules.files.problems import weights_unread
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)
from eaglecfg.rules.shapes.tensors import width_is_misstated
from eaglecfg.rules.vocabulary.facts import (
    draft_tensor,
    draft_vocabulary,
    loaded_name,
    spelled_otherwise,
)


def check(ctx: Context) -> Iterator[Item]:
    vocabulary = draft_vocabulary(ctx)
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    if vocabulary is None or vocabulary.tied or vocabulary.borrowed or vocabulary.rows is None:
        yield NotApplicable()
        return
    rows, head = vocabulary.rows, draft_tensor(ctx, "lm_head.weight")
    declared = config_line(config, "draft_vocab_size", "rows of the head that SGLang builds")
    if loaded_name(ctx, "lm_head.weight", ctx.draft.names or ()) is None:
        if weights_unread(ctx.draft):
            yield NotChecked("some of the draft's weight files could not be read")
            return
        stray = spelled_otherwise(ctx, "lm_head.weight")
        if stray:
            # A prefix before every tensor is one fault, which the rule about missing tensors tells.
            whole = wrapped(_fact(ctx), stray[0], ctx.draft.names or ())
            yield NotApplicable() if whole else _misnamed(ctx, stray[0], declared)
            return
        # Packed heads have other names; their loading is the quantisation rules' matter.
        if any(".".join(name.split(".")[-2:-1]) == "lm_head" for name in ctx.draft.names or ()):
            yield NotChecked("the draft's lm_head is not stored as a plain weight")
            return
        yield Finding(
            f"{ctx.draft.shown} has no lm_head.weight, but {config.file} asks for a head of {rows} rows",
            path=ctx.where("draft", "checkpoint"),
            today=Today.SILENT,
            why="SGLang does not check for missing tensors: the head keeps uninitialised memory and every "
            "proposal is noise",
            help="add lm_head.weight to the draft's weights, or set draft_vocab_size to null to borrow the "
            "target's head",
            evidence=(missing_tensor(ctx.draft, "lm_head.weight"), declared),
            values={"draft_vocab_size": rows},
        )
    elif head is None:
        yield NotChecked("the header that holds lm_head.weight could not be read")
    elif head.shape[:1] != (rows,):
        found = head.shape[0] if head.shape else 0
        yield Finding(
            f"lm_head.weight must have {rows} rows as draft_vocab_size says, but has {found}",
            path=ctx.where("draft", "checkpoint"),
            why="SGLang compares the rows while it loads the draft and stops with an assertion",
            help=f"set draft_vocab_size to {found} in {config.file} if that is the head the draft was "
            "trained with",
            evidence=(tensor_line(head), declared),
            values={"draft_vocab_size": rows, "lm_head_rows": found},
        )
    elif (width := config.integer("hidden_size")) is None:
        yield NotChecked(f"{config.file} does not tell hidden_size, the columns of lm_head.weight")
    elif head.shape != (rows, width) and not width_is_misstated(ctx):
        yield Finding(
            f"lm_head.weight must be [{rows}, {width}], but is {list(head.shape)}",
            path=ctx.where("draft", "checkpoint"),
            why="SGLang stops while it loads the head: the sizes do not fit",
            help="take the head and config.json from one training run",
            evidence=(tensor_line(head), config_line(config, "hidden_size", "columns of the head"), declared),
            values={"draft_vocab_size": rows, "found": list(head.shape)},
        )


def _fact(ctx: Context) -> DraftFact:
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.engine is not None
    return ctx.engine.drafts[ctx.draft.config.architecture or ""]


def _misnamed(ctx: Context, stray: str, declared: Evidence) -> Finding:
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    fact = _fact(ctx)
    noted = "with a line in the log" if fact.unknown == "warned" else "and nothing says so"
    tensor = ctx.draft.tensors.get(stray)
    return Finding(
        f"the draft's head must be called lm_head.weight, but its files call it {stray}",
        path=ctx.where("draft", "checkpoint"),
        today=Today.SILENT,
        why=f"{fact.architecture} takes a head under no other name: {stray} is dropped, {noted}; the head "
        "keeps uninitialised memory and every proposal is noise",
        help=f"save {stray} as lm_head.weight in the draft's files",
        evidence=(
            tensor_line(tensor, "dropped")
            if tensor is not None
            else Evidence(ctx.draft.shown, stray, "present", "dropped"),
            missing_tensor(ctx.draft, "lm_head.weight", "the name that SGLang loads"),
            declared,
        ),
        values={"draft_vocab_size": ctx.draft.config.value("draft_vocab_size"), "found": stray},
    )


RULE = Rule(
    id="EC246",
    slug="draft-head",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=("EC241", "EC262", *UNLOADABLE),
    research=("VOC-07", "VOC-08"),
)
