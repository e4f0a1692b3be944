"""A checkpoint that declares packed or 8-bit weights and holds plain ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.files.problems import Side, weighted, weights_unread
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.numerics.ec268_undeclared_quantization import PLAIN
from eaglecfg.rules.shapes.scales import FLAGS

PACKED = ("awq", "awq_marlin", "gptq", "gptq_marlin")
METHODS: Mapping[Side, tuple[str, ...]] = {"target": (*PACKED, "fp8"), "draft": PACKED}
"""Methods whose every quantised layer leaves a trace in the names. A draft in fp8 has a rule of its own."""

TRACES = (".qweight", ".qzeros", ".scales", ".g_idx", "weight_scale", "weight_scale_inv", "_packed", ".scale")
SPARED = (
    "modules_to_not_convert",
    "ignored_layers",
    "ignore",
    "dynamic",
    "modules_in_block_to_quantize",
    "modules_to_convert",
)
"""Keys that leave layers out: what is plain may be meant to be."""


def check(ctx: Context) -> Iterator[Item]:
    """Names of every weight, and the dtype of the attention's, against the declared method."""
    applies = False
    for side, facts in weighted(ctx):
        method = _declared(facts, side)
        if method is None or any(ctx.argument(flag) is not None for flag in FLAGS):
            continue
        applies = True
        if facts.names is None or weights_unread(facts):
            yield NotChecked(f"the {side}'s tensor names are not all known")
            continue
        if any(name.endswith(TRACES) for name in facts.names):
            continue
        seen = [t for t in facts.tensors.values() if ".self_attn." in t.name and len(t.shape) == 2]
        if seen and all(tensor.dtype in PLAIN for tensor in seen):
            yield _finding(ctx, facts, side, method, seen[0])
    if not applies:
        yield NotApplicable()


def _declared(facts: CheckpointFacts, side: Side) -> str | None:
    found = facts.config.find("quantization") if facts.config is not None else None
    block: Any = found.value if found is not None else None
    if not isinstance(block, dict) or any(block.get(key) for key in SPARED):
        return None
    method = block.get("quant_method")
    return method if isinstance(method, str) and method in METHODS[side] else None


def _finding(ctx: Context, facts: CheckpointFacts, side: Side, method: str, plain: TensorFact) -> Finding:
    assert facts.config is not None
    return Finding(
        f"{facts.config.file} declares {method} weights, but the {side}'s files hold no "
        f"{'scale' if method == 'fp8' else 'packed weight'} at all, and {plain.name} is {plain.dtype}",
        path=ctx.where(side, "checkpoint"),
        why="the engine casts the plain weights to 8 bits and finds no scale for them"
        if method == "fp8"
        else "the layers that the engine builds have no place for plain weights: the model's class stops "
        "with a KeyError or skips them, and the packed ones keep uninitialised memory",
        help=f"remove quantization_config from {facts.config.file}, or name the quantised checkpoint",
        evidence=(
            config_line(facts.config, "quantization", "declared"),
            tensor_line(plain, "not quantised"),
        ),
        values={"checkpoint": side, "declared": method, "dtype": plain.dtype},
    )


RULE = Rule(
    id="EC269",
    slug="plain-weights-declared-packed",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC814", *UNLOADABLE),
)
