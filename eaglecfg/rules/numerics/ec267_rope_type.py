"""A rope type that this engine version does not build, or builds only with keys that are not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.checkpoint.config import ConfigValue, ModelConfig
from eaglecfg.engines.class_rope import rope_of_class
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line, listed
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact

LENGTH = "original_max_position_embeddings"


def check(ctx: Context) -> Iterator[Item]:
    """The draft's rope must be of a type, and have the keys, that the engine's factory takes."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    fact, config = draft_fact(ctx), ctx.draft.config
    own = rope_of_class(ctx.engine, config)
    if own is not None and own.by_layer_type and fact is not None and fact.family == "llama":
        yield _finding(
            ctx,
            config,
            f"{config.file}: {own.config_class}, which its model_type {config.value('model_type')} names, "
            "keys rope_parameters by layer type, and the draft's class takes one rope for all its layers",
            f'write "model_type": "llama" into {config.file}, and give every key that it left to the class',
            "model_type",
        )
        return
    known: Mapping[str, list[str]] | None = ctx.engine.values.get("rope_types")
    rope = _rope(config, newer=ctx.engine.values.get("rope_parameters_read", True))
    # The MLA class builds its own type, and a rope with mrope_section is made "default" by the Llama class.
    if (
        fact is None
        or fact.family != "llama"
        or known is None
        or rope is None
        or "mrope_section" in rope.value
    ):
        yield NotApplicable()
        return
    spelling = "rope_type" if "rope_type" in rope.value else "type"
    kind, place = rope.value.get(spelling), f"{rope.key}.{spelling}"
    if not isinstance(kind, str):
        return
    if kind not in known:
        yield _finding(
            ctx,
            config,
            f"{config.file}: {place} is {kind}, but sglang {ctx.engine.version} knows "
            f"{listed(sorted(known), most=9)} only",
            "write the type that the draft was trained with, or run an engine that knows it",
            place,
        )
        return
    absent = [
        key for key in known[kind] if key not in rope.value and not (key == LENGTH and config.value(key))
    ]
    if absent:
        yield _finding(
            ctx,
            config,
            f"{config.file}: {rope.key} of type {kind} must name {listed(absent)} in "
            f"sglang {ctx.engine.version}, but does not",
            f"add {listed(absent)} from the training run to {rope.key}",
            place,
        )


def _rope(config: ModelConfig, *, newer: bool) -> ConfigValue | None:
    keys = ("rope_parameters", "rope_scaling") if newer else ("rope_scaling",)
    for key in keys:
        value: Any = config.raw.get(key)
        if isinstance(value, dict):
            return ConfigValue(key, value)
    return None


def _finding(ctx: Context, config: ModelConfig, message: str, advice: str, place: str) -> Finding:
    return Finding(
        message,
        path=ctx.where("draft", "checkpoint"),
        why="the factory of rotary embeddings raises while the draft is built, after the target is loaded",
        help=advice,
        evidence=(key_line(config, place, "the draft's rope"),),
        values={"key": place},
    )


RULE = Rule(
    id="EC267",
    slug="rope-type",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC814", *UNLOADABLE),
)
