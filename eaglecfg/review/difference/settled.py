"""What comes of one setting, whatever was asked for."""

from __future__ import annotations

from typing import Any

from eaglecfg.engines.resolve import Resolution


def outcome(resolution: Resolution, flag: str) -> Any:
    """What comes of a setting, to be compared: whether the file asks for it or not does not count."""
    setting = resolution.get(flag)
    if setting.origin == "refused":
        return "the engine stops", setting.asked
    if setting.origin == "unknown":
        return None if setting.asked is None else ("no such flag", setting.asked)
    if setting.origin == "ignored":
        default = resolution.facts.flags.get(flag)
        return _off(default.default if default is not None else None)
    return _off(setting.runs)


def _off(value: Any) -> Any:
    # A switch that is asked to be off is one that nobody asks for: neither is on the command line.
    return None if value is False else value
