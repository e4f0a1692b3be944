"""What json_model_override_args make of a config."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from eaglecfg.checkpoint.config import SPELLINGS, ModelConfig
from eaglecfg.engines.resolve import OVERRIDES
from eaglecfg.record import replace

LABEL = f" with {OVERRIDES}"
"""Follows the name of a file whose values may be the override's."""


def laid_over(config: ModelConfig, changes: Mapping[str, Any], merges: Collection[str]) -> ModelConfig:
    """``config`` with ``changes`` at its top level, ``config`` itself where that changes nothing.

    Objects replace what stands there, but for those that this version lays over it key by key: ``parts``,
    the config of the text model; ``rope``, either spelling of the rope parameters. A newer spelling does not
    outlive an older one that is given. The result has no ``source``: lines of the file prove nothing now.
    """
    part = config.text_key.split(".")[0] if config.text_key is not None else None
    raw: dict[str, Any] = dict(config.raw)
    for key, value in changes.items():
        names = next((each for each in SPELLINGS.values() if key in each), (key,))
        stands = next((raw[name] for name in names if name in raw), None)
        merged = ("parts" in merges and key == part) or ("rope" in merges and names == SPELLINGS["rope"])
        if merged and isinstance(value, dict) and isinstance(stands, dict):
            value = {**stands, **value}
        if stands == value and any(name in raw for name in names):
            continue
        for name in names:
            raw.pop(name, None)
        raw[key] = value
    if raw == config.raw:
        return config
    file = config.file if config.file.endswith(LABEL) else f"{config.file}{LABEL}"
    return replace(config, file=file, raw=raw, source="")
