"""Quantised weights in a draft that declares none, or plain weights in one that declares them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.checkpoint.quantization import declared
from eaglecfg.engines.wiring import Wiring
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, listed, tensor_line
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
from eaglecfg.rules.shapes.expected import pairs, wiring
from eaglecfg.rules.shapes.scales import EIGHT_BITS, FLAGS, LINEAR, spared

PLAIN = ("BF16", "F16", "F32")
FP8 = ("F8_E4M3", "F8_E5M2")
SCALES = ("weight_scale", "weight_scale_inv")


def check(ctx: Context) -> Iterator[Item]:
    """8-bit weights need a declaration, and a declaration of 8-bit weights needs them."""
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    built = wiring(ctx)
    if built is None or any(ctx.argument(flag) is not None for flag in FLAGS):
        yield NotApplicable()
        return
    linear = [p.found for p in pairs(ctx, built) if p.found is not None and p.expected.part in LINEAR]
    linear = [tensor for tensor in linear if len(tensor.shape) == 2]
    packed = next((tensor for tensor in linear if tensor.dtype in FP8), None)
    stated = _declared(ctx.draft)
    head = next(
        (p.found for p in pairs(ctx, built) if p.expected.part == "head" and p.expected.required), None
    )
    if head is not None and head.dtype in EIGHT_BITS and (packed is None or declared(ctx.draft) is not None):
        said = _head(ctx, head)
        if said is not None:
            yield said
    yield from _left_out(ctx, built)
    if stated is None and packed is not None:
        yield _undeclared(ctx, ctx.draft, packed)
    elif stated is not None and linear and all(tensor.dtype in PLAIN for tensor in linear):
        yield _unfulfilled(ctx, ctx.draft, stated, linear[0])


def _head(ctx: Context, head: TensorFact) -> Finding | NotChecked | None:
    """lm_head in eight bits where the engine builds a plain one, whatever the other layers are made of."""
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.engine is not None
    found, config = declared(ctx.draft), ctx.draft.config
    stem = head.name.removesuffix("weight")
    scale = next(
        (ctx.draft.tensors[name] for leaf in SCALES if (name := stem + leaf) in ctx.draft.tensors), None
    )
    if scale is None or (found is None and config.find("quantization") is not None):
        return None  # numbers without a scale mean what they say
    if found is not None:
        from eaglecfg.engines.quantized import head_is_plain  # few drafts are quantised

        plain = head_is_plain(ctx.engine.name, ctx.engine.facts_of, found)
        if plain is None:
            return NotChecked(f"whether {found.form} quantises {head.name} is not known")
        if not plain:
            return None
    file = config.file if found is None else found.file
    single = prod(scale.shape) == 1
    return Finding(
        f"{head.name} is stored as {head.dtype}, but "
        + (
            f"{file} has no quantization_config"
            if found is None
            else f"sglang {ctx.engine.facts_of} builds it plain under the {found.form} declaration of {file}"
        ),
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.WARNING if single else None,
        why="the engine copies the 8-bit numbers into a plain head and drops "
        + (
            "their scale: the order of the draft's tokens stays, but its probabilities are those of another "
            "temperature, so that trees and sampling accept less"
            if single
            else "the scales of its rows: the draft picks other tokens"
        )
        + ", and nothing says so",
        help=f"save {head.name} in bfloat16",
        evidence=(
            tensor_line(head, "quantised"),
            tensor_line(scale, "dropped"),
            config_line(config, "quantization", "none declared")
            if found is None
            else Evidence(file, found.key or "quant_algo", found.form, "declared"),
        ),
        values={"tensor": head.name, "dtype": head.dtype, "declared": found.form if found else None},
    )


def _left_out(ctx: Context, built: Wiring) -> Iterator[Finding]:
    """Layers stored in eight bits that the declaration leaves out, so that the engine builds them plain."""
    assert ctx.draft is not None
    found = declared(ctx.draft)
    if found is None or not found.spares:
        return
    out = {}
    for pair in pairs(ctx, built):
        linear = pair.expected.part in LINEAR and len(pair.expected.shape) == 2
        if linear and pair.found is not None and pair.found.dtype in EIGHT_BITS:
            name, left = spared(ctx, found, pair.expected)
            if left:
                out[pair.found] = name
    if not out:
        return
    first, names = next(iter(out)), listed(list(dict.fromkeys(out.values())))
    be, them = ("is", "it") if len(out) == 1 else ("are", "them")
    stored = listed([tensor.name for tensor in out])
    yield Finding(
        f"{stored} {be} stored as {first.dtype}, but {found.file} leaves {them} out",
        path=ctx.where("draft", "checkpoint"),
        why=f"the engine asks for {names}, finds an entry that stands for it, builds the layer plain, copies "
        "the 8-bit numbers into it and drops their scales: the draft proposes noise, and nothing says so",
        help=f"take the entry out of {found.file}, or write it so that it does not stand for {names}",
        evidence=(
            *(tensor_line(tensor, "quantised") for tensor in list(out)[:3]),
            Evidence(found.file, found.key or "quant_algo", found.form, "declared"),
        ),
        values={"tensors": [tensor.name for tensor in out][:10], "declared": found.form},
    )


def _declared(draft: CheckpointFacts) -> str | None:
    """The 8-bit method that config.json or hf_quant_config.json names with no layer left out.

    An empty text: quantised in some other way, or with layers left out, so that nothing can be said.
    """
    found = declared(draft)
    if found is None:
        block = draft.config.find("quantization") if draft.config is not None else None
        return None if block is None or block.value is None else ""
    whole = found.method == "fp8" or (not found.key and found.algorithm == "FP8")
    return found.form if whole and not found.spares else ""


def _undeclared(ctx: Context, draft: CheckpointFacts, packed: TensorFact) -> Finding:
    assert draft.config is not None
    return Finding(
        f"{packed.name} is stored as {packed.dtype}, but {draft.config.file} has no quantization_config",
        path=ctx.where("draft", "checkpoint"),
        why="the engine copies the 8-bit numbers into plain weights and drops their scales: the draft "
        "proposes noise, and nothing says so",
        help=f"add the quantization_config of the export to {draft.config.file}, or save the draft in "
        "bfloat16",
        evidence=(
            tensor_line(packed, "quantised"),
            config_line(draft.config, "quantization", "none declared"),
        ),
        values={"tensor": packed.name, "dtype": packed.dtype},
    )


def _unfulfilled(
    ctx: Context, draft: CheckpointFacts, stated: str, plain: TensorFact
) -> Finding | NotApplicable:
    if not stated:
        return NotApplicable()
    assert draft.config is not None
    found = declared(draft)
    file = found.file if found is not None else draft.config.file
    return Finding(
        f"{file} declares {stated} weights, but {plain.name} is stored as {plain.dtype}",
        path=ctx.where("draft", "checkpoint"),
        why="the engine casts the plain weights to 8 bits and finds no scale for them: the draft proposes "
        "noise, and nothing says so",
        help=f"remove the declaration ({file}), or ship the quantised weights",
        evidence=(tensor_line(plain, "not quantised"), config_line(draft.config, "quantization")),
        values={"tensor": plain.name, "dtype": plain.dtype, "declared": stated},
    )


RULE = Rule(
    id="EC268",
    slug="draft-quantization-undeclared",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC260", *UNLOADABLE),
)
