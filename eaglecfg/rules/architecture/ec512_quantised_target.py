"""A target that in its quantised form takes other algorithms only."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.architecture.drafts import runs_eagle3
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Class and quantisation of the target against those that this version keeps from EAGLE3."""
    assert context.engine is not None
    assert context.target is not None
    assert context.target.config is not None
    config, facts = context.target.config, context.engine.values.get("quantised_targets", {})
    if not runs_eagle3(context) or not facts:
        yield NotApplicable()
        return
    flag = context.argument("quantization")
    method = flag if isinstance(flag, str) else quantised_as(config)
    fact = facts.get(method or "")
    if fact is None or config.architecture not in fact["classes"]:
        return
    others = " or ".join(fact["algorithms"])
    yield Finding(
        f"{config.architecture} in {method} takes {others} in {engine_label(context)}, not EAGLE3",
        path=context.argument_path("speculative_algorithm"),
        why="its packed experts have no code that hands out hidden states to an EAGLE-3 draft; SGLang stops "
        "while it reads its arguments",
        help=f"serve the checkpoint in another format, set speculative: off, or use {others}",
        evidence=(
            config_line(config, "architectures", "the target's class"),
            config_line(config, "quantization", f"served as {method}"),
        ),
        values={"target_architecture": config.architecture, "quantization": method},
    )


def quantised_as(config: ModelConfig) -> str | None:
    """The method that the checkpoint is served in: MXFP8 with packed NVFP4 experts has its own name."""
    found = config.find("quantization")
    block = found.value if found is not None and isinstance(found.value, dict) else {}
    method = block.get("quant_method")
    packed = block.get("moe_quant_format") == "nvfp4-pack-quantized"
    if method == "mxfp8" and packed and str(block.get("moe_quant_algo", "")).upper() == "NVFP4":
        return "minimax_m3_nvfp4"
    return method if isinstance(method, str) else None


RULE = Rule(
    id="EC512",
    slug="quantised-target",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC503", "EC506", "EC508", "EC510"),
    research=("ALG-16",),
)
