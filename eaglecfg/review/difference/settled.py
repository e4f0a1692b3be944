"""What comes of one setting, whatever was asked for and however it is spelled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.resolve import Resolution

_HOLD_JSON = frozenset(
    (
        "json_model_override_args",
        "model_loader_extra_config",
        "preferred_sampling_params",
        "hicache_storage_backend_extra_config",
    )
)
"""Flags of text that the engine reads as JSON."""


def outcome(resolution: Resolution, flag: str) -> Any:
    """What comes of a setting, to be compared: whether the file asks for it or not does not count."""
    setting = resolution.get(flag)
    if setting.origin == "refused":
        return "the engine stops", setting.asked
    if setting.origin == "unknown":
        return None if setting.asked is None else ("no such flag", setting.asked)
    fact = resolution.facts.flags.get(flag)
    kind = fact.type if fact is not None else ""
    if setting.origin == "ignored":
        return _taken(fact.default if fact is not None else None, flag, kind)
    return _taken(setting.runs, flag, kind)


def _taken(value: Any, flag: str, kind: str) -> Any:
    """``value`` as the engine takes it from its command line, which holds nothing but text."""
    # A switch that is asked to be off is one that nobody asks for: neither is on the command line.
    if value is None or value is False:
        return None
    if kind == "" or isinstance(value, bool):
        return value
    if kind == "json" or flag in _HOLD_JSON:
        return _json(value)
    if kind == "list":
        return tuple(map(_text, value)) if isinstance(value, list | tuple) else (_text(value),)
    text = _text(value)
    if kind in ("int", "float"):
        try:
            return (repr(float(text)) if kind == "float" else int(text)), "number"
        except ValueError:
            pass  # with a suffix, or no number at all
    return text


def _json(value: Any) -> Any:
    """The text of an object or a list, with its keys in order and without spaces of its own."""
    held = value
    if isinstance(value, str):
        try:
            held = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if not isinstance(held, Mapping | list):
        return _text(value)
    try:
        return json.dumps(held, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return _text(value)


def _text(value: Any) -> str:
    return (
        value if isinstance(value, str) else _json(value) if isinstance(value, Mapping | list) else str(value)
    )
