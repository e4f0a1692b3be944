"""Draft tensors under one spelling, whatever prefix a trainer wrote before them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.engines.config_classes import class_of
from eaglecfg.engines.facts import DraftFact
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import NotChecked

_LAYER = re.compile(r"layers\.(\d+)\.")


def draft_class(ctx: Context) -> DraftFact | None:
    """Facts of the draft's class; None where this version builds no EAGLE-3 draft of that class."""
    if ctx.engine is None or ctx.draft is None or ctx.draft.config is None:
        return None
    return ctx.engine.drafts.get(ctx.draft.config.architecture or "")


def draft_config(ctx: Context) -> ModelConfig:
    """The draft's config.json; only for rules that need it."""
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    return ctx.draft.config


def left_to_the_class(config: ModelConfig, *names: str) -> NotChecked | None:
    """Why sizes that ``names`` give cannot be compared: the file leaves them to its config class, whose
    defaults (4096 wide, 32 layers) are seldom meant."""
    gone = [name for name in names if config.value(name) is None]
    if not gone:
        return None
    return NotChecked(
        f"{config.file} does not give {' and '.join(gone)}, and what its class assumes instead is not known"
    )


def plain(name: str) -> str:
    """A tensor name without ``model.`` in front and with ``layers.0.`` for ``midlayer.``."""
    name = name.removeprefix("model.")
    return f"layers.0.{name.removeprefix('midlayer.')}" if name.startswith("midlayer.") else name


def blocks(ctx: Context) -> set[int]:
    """Numbers of the decoder layers that the draft's files or index hold."""
    assert ctx.draft is not None
    found = (_LAYER.match(plain(name)) for name in ctx.draft.names or ())
    return {int(match[1]) for match in found if match is not None}


def by_plain_name(ctx: Context) -> Mapping[str, TensorFact]:
    """The draft's tensors by plain name."""
    assert ctx.draft is not None
    return {plain(name): tensor for name, tensor in ctx.draft.tensors.items()}


def stored_width(ctx: Context) -> int | None:
    """hidden_size as the draft's own tensors have it: the length of its norms. None where they differ."""
    found = by_plain_name(ctx)
    norms = ("norm.weight", "layers.0.input_layernorm.weight", "layers.0.post_attention_layernorm.weight")
    lengths = {found[name].shape for name in norms if name in found}
    return next(iter(lengths))[0] if len(lengths) == 1 and len(min(lengths)) == 1 else None


def width_is_misstated(ctx: Context) -> bool:
    """Whether the draft's tensors are as wide as the target, and only its config says another hidden_size."""
    target = ctx.target.config.integer("hidden_size") if ctx.target and ctx.target.config else None
    stored = stored_width(ctx)
    return stored is not None and stored == target != draft_config(ctx).integer("hidden_size")


def left_by(config: ModelConfig, key: str) -> str:
    """Where ``key`` gets its value if ``config`` does not give it, as in " (by Qwen3Config)"; else empty."""
    assumed = class_of(config)
    return f" (by {assumed['config_class']})" if assumed is not None and config.find(key) is None else ""
