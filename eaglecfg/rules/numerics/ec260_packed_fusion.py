"""A quantised fusion layer, which the Llama draft class cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, listed, missing_tensor, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact, engine_line

PLAIN = frozenset({"weight", "bias"})


def check(ctx: Context) -> Iterator[Item]:
    """fc must be stored as a plain floating-point weight where the class builds a plain linear layer."""
    fact = draft_fact(ctx)
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    if fact is None or fact.fc_quantized:
        yield NotApplicable()
        return
    parts = [name for name in sorted(ctx.draft.names or ()) if name.removeprefix("model.").startswith("fc.")]
    packed = [name for name in parts if name.rpartition(".")[2] not in PLAIN]
    if not packed:
        return
    shapes = [ctx.draft.tensors[name] for name in packed if name in ctx.draft.tensors]
    whole = any(name.rpartition(".")[2] == "weight" for name in parts)
    yield Finding(
        f"fc.weight must be a plain weight, but the draft stores fc as {listed(packed)}",
        path=ctx.where("draft", "checkpoint"),
        today=Today.CRASH_AT_START if whole else Today.SILENT,
        why="the draft class builds fc as a plain linear layer and knows no quantised weights: the load "
        "stops at the shape"
        if whole
        else "the draft class builds fc as a plain linear layer: the packed tensors are dropped and fc "
        "keeps uninitialised memory",
        help="keep fc out of quantisation (add fc to the ignore list of the quantisation recipe) and save "
        "the draft again",
        evidence=(
            *(tensor_line(tensor, "dropped") for tensor in shapes[:3]),
            *(() if whole else (missing_tensor(ctx.draft, "fc.weight"),)),
            config_line(ctx.draft.config, "quantization"),
            engine_line(ctx, fact, "plain fc"),
        ),
        values={"tensors": packed},
    )


RULE = Rule(
    id="EC260",
    slug="packed-fusion",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=UNLOADABLE,
    research=("QNT-03",),
)
