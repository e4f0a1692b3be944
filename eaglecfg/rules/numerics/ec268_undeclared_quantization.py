"""Quantised weights in a draft that declares none, or plain weights in one that declares them."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
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
    declared = _declared(ctx.draft)
    if declared is None and packed is not None:
        yield _undeclared(ctx, ctx.draft, packed)
    elif declared is not None and linear and all(tensor.dtype in PLAIN for tensor in linear):
        yield _unfulfilled(ctx, ctx.draft, declared, linear[0])


def _declared(draft: CheckpointFacts) -> str | None:
    """The 8-bit method that config.json or hf_quant_config.json names with no layer left out.

    An empty text: quantised in some other way, or with layers left out, so that nothing can be said.
    """
    assert draft.config is not None
    block = draft.config.find("quantization")
    if block is not None and block.value is not None:
        value = block.value if isinstance(block.value, dict) else {}
        spared = any(value.get(key) for key in ("ignored_layers", "modules_to_not_convert", "ignore"))
        return "fp8" if value.get("quant_method") == "fp8" and not spared else ""
    side = (draft.quantization or {}).get("quantization")
    if not isinstance(side, dict) or not side.get("quant_algo"):
        return None
    return "FP8" if side["quant_algo"] == "FP8" and not side.get("exclude_modules") else ""


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
    ctx: Context, draft: CheckpointFacts, declared: str, plain: TensorFact
) -> Finding | NotApplicable:
    if not declared:
        return NotApplicable()
    assert draft.config is not None
    file = draft.config.file
    if draft.config.find("quantization") is None:
        file = file.removesuffix("config.json") + "hf_quant_config.json"
    return Finding(
        f"{file} declares {declared} weights, but {plain.name} is stored as {plain.dtype}",
        path=ctx.where("draft", "checkpoint"),
        why="the engine casts the plain weights to 8 bits and finds no scale for them: the draft proposes "
        "noise, and nothing says so",
        help=f"remove the declaration ({file}), or ship the quantised weights",
        evidence=(tensor_line(plain, "not quantised"), config_line(draft.config, "quantization")),
        values={"tensor": plain.name, "dtype": plain.dtype, "declared": declared},
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
