"""Capture layer ids as the draft's config.json spells them, and the words that findings about them share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.locate import locate
from eaglecfg.engines.resolve import OVERRIDES
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, shown
from eaglecfg.rules.model import Evidence
from eaglecfg.source.span import KeyPath

KEY = "eagle_aux_hidden_state_layer_ids"
BLOCK = "eagle_config"


@record
class Listed:
    """A list of ids in config.json: the key as a path in the file, and the raw value."""

    key: str
    value: Any

    @property
    def ids(self) -> tuple[int, ...] | None:
        """The ids, or None where the value is not a list of whole numbers."""
        return whole_numbers(self.value)


def whole_numbers(value: Any) -> tuple[int, ...] | None:
    """``value`` as a tuple if it is a list of whole numbers (a bool is not one)."""
    if not isinstance(value, list | tuple):
        return None
    if any(isinstance(item, bool) or not isinstance(item, int) for item in value):
        return None
    return tuple(value)


def in_block(draft: ModelConfig) -> Listed | None:
    """The list inside ``eagle_config``, which is the one place that SGLang's target side reads."""
    block = draft.raw.get(BLOCK)
    if isinstance(block, dict) and KEY in block:
        return Listed(f"{BLOCK}.{KEY}", block[KEY])
    return None


def at_top(draft: ModelConfig) -> Listed | None:
    """The list at the top level of config.json, where other engines look first."""
    return Listed(KEY, draft.raw[KEY]) if KEY in draft.raw else None


def spelled(numbers: Iterable[int]) -> str:
    """``[3, 31, 59]``."""
    return f"[{', '.join(map(str, numbers))}]"


def counted(count: int, noun: str) -> str:
    """``1 state``, ``3 states``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def draft_config(context: Context) -> ModelConfig:
    """The draft's config.json as the engine sees it, overrides included; only for rules that need it."""
    assert context.draft is not None
    assert context.draft.config is not None
    return context.draft.config


def target_config(context: Context) -> ModelConfig:
    """The target's config.json as the engine sees it, overrides included; only for rules that need it."""
    assert context.target is not None
    assert context.target.config is not None
    return context.target.config


def layers(context: Context) -> int | None:
    """The target's number of layers as the engine sees it, overrides included."""
    return context.boundaries.layers if context.boundaries is not None else None


def key_line(config: ModelConfig, listed: Listed, note: str = "") -> Evidence:
    """The line of config.json that holds ``listed``."""
    place = locate(config, listed.key)
    line, column = place if place is not None else (None, None)
    return Evidence(config.file, listed.key, shown(listed.value), note, line, column)


def ids_line(draft: ModelConfig, note: str = "") -> Evidence:
    """The ids that the engine reads, or the absence of any."""
    listed = in_block(draft)
    if listed is not None:
        return key_line(draft, listed, note)
    return Evidence(draft.file, f"{BLOCK}.{KEY}", "absent", note)


def depth_line(target: ModelConfig, note: str = "") -> Evidence:
    """The number of target layers."""
    return config_line(target, "num_hidden_layers", note)


def engine_line(context: Context) -> Evidence:
    """The place in the engine that turns ids into boundaries."""
    assert context.boundaries is not None
    found = context.boundaries
    assert context.engine is not None
    return Evidence(f"{context.engine.name} {found.read_in}", found.source, found.rule)


def ids_path(context: Context) -> KeyPath:
    """Where the YAML file speaks of the ids: an override, ``capture.layer_ids``, else the checkpoint."""
    if BLOCK in str(context.argument(OVERRIDES)):
        return context.argument_path(OVERRIDES)
    if context.model.capture.layer_ids is not None:
        return context.where("capture", "layer_ids")
    return context.where("draft", "checkpoint")


def shift_lines(ids: Sequence[int] | None, shifted: Sequence[int], n: int | None) -> tuple[str, ...]:
    """How each boundary came about, as sums that a reader can check."""
    if ids is not None:
        if len(ids) != len(shifted):
            return ()
        pairs = zip(ids, shifted, strict=True)
        return (", ".join(f"{a} + {b - a} = {b}" if b != a else f"{a} stays {a}" for a, b in pairs),)
    if n is not None and tuple(shifted) == third_points(n):
        return (f"default of {n} layers: 2, {n} // 2 = {n // 2}, {n} − 3 = {n - 3}",)
    return ()


def third_points(n: int) -> tuple[int, int, int]:
    """The default boundaries of SGLang and of the original EAGLE-3 code for ``n`` layers."""
    return 2, n // 2, n - 3
