"""How the config class, which model_type names, turns positions where config.json leaves it open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.config_classes import USUAL, class_of, table
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.record import record


@record
class ClassRope:
    """What one config class assumes under the transformers that one engine version pins.

    ``theta`` and ``share`` stand for keys that the file leaves out. ``scaling`` is the class's own
    rope_scaling if the file leaves that in force; a rope_theta in it counts whatever the file gives.
    ``keeps_rope_parameters``: whether those of the file outlive the class. ``by_layer_type``: they are keyed
    by layer type. ``source`` is where that stands, empty where nothing is out of the ordinary.
    """

    config_class: str
    theta: int
    share: float
    scaling: Mapping[str, Any] | None
    keeps_rope_parameters: bool
    by_layer_type: bool
    source: str


def rope_of_class(facts: EngineFacts, config: ModelConfig) -> ClassRope | None:
    """How the class of ``config`` turns positions; None where that class was not read, or not in the
    transformers that this engine version pins."""
    assumed = class_of(config)
    if assumed is None:
        return None
    row: Mapping[str, Any] = table()["rope"]["classes"].get(config.value("model_type", USUAL), {})
    version = str(facts.values.get("pins", {}).get("transformers", "")).removeprefix("==")
    major = version.partition(".")[0]
    if row and (version not in table()["read_in"] or (major == "4" and row.get("absent_in_4"))):
        return None
    row = {**row, **row.get(major, {})}
    scaling = row.get("rope_scaling")
    if scaling is not None and _says_scaling(facts, config, null_counts=not row.get("null_scaling")):
        scaling = None
    return ClassRope(
        config_class=assumed["config_class"],
        theta=(scaling or {}).get("rope_theta", row.get("rope_theta", 10000)),
        share=row.get("partial_rotary_factor", 1),
        scaling=scaling,
        keeps_rope_parameters=row.get("rope_parameters", True),
        by_layer_type=row.get("by_layer_type", False),
        source=row.get("source", ""),
    )


def reads_rope_parameters(facts: EngineFacts, config: ModelConfig) -> bool:
    """Whether rope_parameters of the file reach the model."""
    own = rope_of_class(facts, config)
    read = bool(facts.values.get("rope_parameters_read", True))
    return read and (own is None or own.keeps_rope_parameters)


def _says_scaling(facts: EngineFacts, config: ModelConfig, *, null_counts: bool) -> bool:
    read = facts.values.get("rope_parameters_read", True)
    if config.raw.get("rope_scaling") or (read and config.raw.get("rope_parameters")):
        return True
    return null_counts and "rope_scaling" in config.raw
