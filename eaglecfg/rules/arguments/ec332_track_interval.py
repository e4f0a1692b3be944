"""State snapshots of hybrid targets that come more often than verifies."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import write

FLAG = "mamba_track_interval"


def check(ctx: Context) -> Iterator[Item]:
    """``mamba_track_interval`` must be at least num_draft_tokens."""
    assert ctx.target is not None
    assert ctx.target.config is not None
    interval = ctx.argument(FLAG)
    tokens = ctx.resolution.runs("speculative_num_draft_tokens") if ctx.resolution is not None else None
    if not isinstance(interval, int) or algorithm(ctx) not in EAGLE_FAMILY or not _hybrid(ctx.target.config):
        yield NotApplicable()
        return
    if not isinstance(tokens, int) or interval >= tokens:
        return
    yield Finding(
        f"{FLAG} must be at least num_draft_tokens {tokens}, but is {interval}",
        path=ctx.argument_path(FLAG),
        why="a verify would step over a snapshot of the recurrent state; SGLang stops with an assertion",
        help=f"write {FLAG}: {max(tokens, 256)}",
        related=((ctx.argument_path("speculative_num_draft_tokens"), f"{tokens} tokens a verify"),),
        fix=write(ctx, FLAG, max(tokens, 256)),
        values={FLAG: interval, "num_draft_tokens": tokens},
    )


def _hybrid(config: ModelConfig) -> bool:
    """Whether some layers of the target keep a recurrent state."""
    keys = ("full_attention_interval", "linear_num_key_heads", "mamba_num_heads", "hybrid_override_pattern")
    kinds = config.value("layer_types")
    linear = isinstance(kinds, list) and any(kind in ("linear_attention", "mamba") for kind in kinds)
    return linear or any(config.value(key) is not None for key in keys)


RULE = Rule(
    id="EC332",
    slug="track-interval",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC301", "EC303"),
    research=("ARG-28",),
)
