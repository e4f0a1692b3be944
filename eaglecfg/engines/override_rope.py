"""How a model's positions turn once json_model_override_args are laid over its config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.checkpoint.config import SPELLINGS, ModelConfig
from eaglecfg.engines.class_rope import rope_of_class
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.record import record

LLAMA_THETA = 10000
"""What the Llama classes take where rope_parameters have no rope_theta (0.5.14 srt/models/llama.py:268)."""


@record
class Rope:
    """A rope as the model sees it: ``theta``, None where it got lost, ``kind``, and what that kind reads."""

    theta: float | None
    kind: str
    factors: Mapping[str, Any]


def rope_with(facts: EngineFacts, config: ModelConfig, changes: Mapping[str, Any]) -> Rope | None:
    """The rope of ``config`` under the override ``changes``; None where that is not known for certain."""
    own = rope_of_class(facts, config)
    if own is None or own.scaling is not None or not own.keeps_rope_parameters or own.by_layer_type:
        return None
    theta = config.raw.get("rope_theta")
    theta = own.theta if theta is None else theta
    if not facts.values.get("rope_parameters_read", True):
        return _rope(
            changes.get("rope_theta", theta), changes.get("rope_scaling", config.raw.get("rope_scaling"))
        )
    # transformers 5 puts the file's rope_theta into rope_parameters, of which rope_scaling is another name,
    # before the override is laid over them: a rope_theta beside them comes too late.
    stands: Any = next((config.raw[name] for name in SPELLINGS["rope"] if config.raw.get(name)), {})
    if not isinstance(stands, dict):
        return None
    layout = {**stands, "rope_theta": stands.get("rope_theta", theta)}
    for name, value in changes.items():
        if name not in SPELLINGS["rope"]:
            continue
        if not isinstance(value, dict):
            return None
        layout = {**layout, **value} if "rope" in facts.values["override_merges"] else dict(value)
    return _rope(layout.get("rope_theta"), layout)


def lost_theta(
    facts: EngineFacts, config: ModelConfig, changes: Mapping[str, Any], assumed: float = LLAMA_THETA
) -> float | None:
    """The rope_theta of ``config`` that ``changes`` throw away and a class that assumes ``assumed`` misses.

    None where it stays, is given anew or is what the class assumes, and where that is not known for certain.
    """
    if config.text_key is not None:
        return None
    before, after = rope_with(facts, config, {}), rope_with(facts, config, changes)
    if before is None or after is None or after.theta is not None or before.theta == assumed:
        return None
    return before.theta


def _rope(theta: Any, scaling: Any) -> Rope | None:
    if scaling is not None and not isinstance(scaling, dict):
        return None
    scaling = scaling or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    named = {"rope_type", "type", "rope_theta"}
    factors = {key: value for key, value in scaling.items() if key not in named}
    if kind == "default" and "mrope_section" not in factors:
        factors = {}
    return Rope(theta, kind, factors)
