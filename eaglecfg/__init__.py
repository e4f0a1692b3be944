"""eaglecfg checks and tunes EAGLE-3 speculative decoding deployments on SGLang."""

from __future__ import annotations

__version__ = "0.1.0"

_API = frozenset(
    {
        "Config", "ConfigUnreadable", "EaglecfgError", "Finding", "Hop", "NotChecked", "Report", "Resolution",
        "Setting", "Trace", "UsageError", "load", "resolve", "trace", "validate",
    }
)  # fmt: skip
"""Names of ``eaglecfg.api``, which loads when one is first used: the command line does without it."""


def __getattr__(name: str) -> object:
    if name not in _API:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module("eaglecfg.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_API})
