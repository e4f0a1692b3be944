"""Quantised weights in a draft that declares none, or plain weights in one that declares them."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.checkpoint.quantization import declared
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import pairs, wiring

FLAGS = ("quantization", "speculative_draft_model_quantization")
PLAIN = ("BF16", "F16", "F32")
FP8 = ("F8_E4M3", "F8_E5M2")
LINEAR = ("attention", "mlp")


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
    if stated is None and packed is not None:
        yield _undeclared(ctx, ctx.draft, packed)
    elif stated is not None and linear and all(tensor.dtype in PLAIN for tensor in linear):
        yield _unfulfilled(ctx, ctx.draft, stated, linear[0])


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
