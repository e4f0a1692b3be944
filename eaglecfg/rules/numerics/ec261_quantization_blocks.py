"""Block-quantised weights that are cut inside a block."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks


def block_sizes(config: ModelConfig) -> tuple[int, int] | None:
    """(rows, columns) of a block of an fp8 checkpoint, None for any other."""
    block = config.value("quantization")
    if not isinstance(block, dict) or block.get("quant_method") != "fp8":
        return None
    sizes = block.get("weight_block_size")
    if isinstance(sizes, list) and len(sizes) == 2 and all(isinstance(n, int) and n > 0 for n in sizes):
        return sizes[0], sizes[1]
    return None


def check(ctx: Context) -> Iterator[Item]:
    """The part of an MLP that one rank holds must be whole blocks."""
    shared, found = ranks(ctx), False
    for role, facts in (("target", ctx.target), ("draft", ctx.draft if ctx.speculates else None)):
        config = facts.config if facts is not None else None
        sizes = block_sizes(config) if config is not None else None
        if config is None or sizes is None:
            continue
        found = True
        key, over = _width_key(ctx, config, shared.tensor)
        width = config.integer(key)
        if width is None or over < 1 or width % over:
            continue
        part = width // over
        size = next((size for size in sizes if part % size), None)
        if over > 1 and size is not None:
            yield Finding(
                f"the {role}'s {key} of {width} gives each of {over} ranks {part}, which does not divide "
                f"by blocks of {size}",
                path=ctx.where("parallel", "tp_size"),
                why="a block has one scale and cannot be cut; SGLang stops with a ValueError while it "
                "loads the weights",
                help=f"use a tp_size that leaves whole blocks, or ep_size {over} to keep experts whole"
                if "moe" in key or _experts(config)
                else "use a tp_size that leaves whole blocks",
                evidence=(config_line(config, key), config_line(config, "quantization")),
                arithmetic=(f"{width} ÷ {over} = {part}; {part} ÷ {size} leaves {part % size}",),
                values={key: width, "ranks": over, "part": part, "block": size},
            )
    if not found:
        yield NotApplicable()


def _experts(config: ModelConfig) -> bool:
    keys = ("num_local_experts", "n_routed_experts", "num_experts")
    return any((config.integer(key) or 0) > 1 for key in keys)


def _width_key(ctx: Context, config: ModelConfig, tensor: int) -> tuple[str, int]:
    """The key of the width that ranks share, and how many ranks share it."""
    spread = ctx.model.parallel.ep_size or 1
    if ctx.argument("moe_a2a_backend") not in (None, "none"):
        spread = tensor
    over = tensor // spread if spread > 0 and tensor % spread == 0 else tensor
    if config.integer("moe_intermediate_size") is not None:
        return "moe_intermediate_size", over
    return "intermediate_size", over if _experts(config) else tensor


RULE = Rule(
    id="EC261",
    slug="quantization-blocks",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC405", "EC406"),
    research=("QNT-04",),
)
