"""The context length that an engine derives from a config.json."""

from __future__ import annotations

from collections.abc import Mapping

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.numerals import engine_switch, whole
from eaglecfg.engines.resolve_models import derived_context
from eaglecfg.record import record
from eaglecfg.rules.context import Context

OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"

CLASS_DEFAULTS: Mapping[str, int] = {"llama": 2048, "qwen2": 32768, "qwen3": 32768, "qwen3_moe": 32768}
"""max_position_embeddings that transformers' config class fills in, by model_type, where config.json has
none."""


@record
class Derived:
    """A context length and the key that gives it; ``key`` is empty where no key does and a default holds.

    ``written`` is the number behind the key, which a rope factor may stretch.
    """

    length: int
    key: str
    arithmetic: str = ""
    written: int | None = None

    @property
    def stretched(self) -> bool:
        """Whether the length is another than the file has."""
        return bool(self.arithmetic)


def derived_length(ctx: Context, config: ModelConfig) -> Derived | None:
    """Context length of a model as the engine derives it; None where only its config class could tell."""
    assert ctx.engine is not None
    assert ctx.resolution is not None
    config = ctx.resolution.overridden(config)
    length, key = derived_context(config, ctx.engine.values["context"])
    if not key:
        default = CLASS_DEFAULTS.get(str(config.value("model_type")))
        return Derived(default, "") if default is not None else None
    if length is None:
        return None
    written = whole(config.value(key.rpartition(".")[2]))
    scaled = written is not None and written and written != length
    sum_ = f"{length / written:g} × {written} = {length}" if scaled and written else ""
    return Derived(length, key, sum_, written)


def allowed(ctx: Context) -> bool:
    """Whether the environment lets a context grow beyond what config.json says."""
    return engine_switch(ctx.variable(OVERRIDE) or "") is True


def asked_length(ctx: Context) -> int | None:
    """``context_length`` as given, suffixes counted."""
    return whole(ctx.argument("context_length"))


def served_length(ctx: Context) -> int | None:
    """The context length that the target serves, which the draft is built with too."""
    given = asked_length(ctx)
    if given is not None:
        return given
    if ctx.target is None or ctx.target.config is None:
        return None
    derived = derived_length(ctx, ctx.target.config)
    return derived.length if derived is not None else None
