"""Evidence lines from checkpoints, the same for every rule."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.checkpoint.locate import locate
from eaglecfg.rules.model import Evidence


def config_line(config: ModelConfig, name: str, note: str = "") -> Evidence:
    """The line of config.json that gives ``name`` (canonical spelling); "absent" where no line does."""
    found = config.find(name)
    if found is None:
        return Evidence(config.file, name, "absent", note)
    place = locate(config, found.key)
    line, column = place if place is not None else (None, None)
    return Evidence(config.file, found.key, shown(found.value), note, line, column)


def key_line(config: ModelConfig, key: str, note: str = "") -> Evidence:
    """The line of config.json at the dotted path ``key``; "absent" where there is none."""
    value: Any = config.raw
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    place = locate(config, key)
    if place is not None:
        return Evidence(config.file, key, shown(value), note, *place)
    # What an override sets is there without a line.
    return Evidence(config.file, key, "absent" if value is None else shown(value), note)


def tensor_line(tensor: TensorFact, note: str = "") -> Evidence:
    """A tensor as a header describes it."""
    return Evidence(tensor.file, tensor.name, str(tensor), note)


def missing_tensor(checkpoint: CheckpointFacts, name: str, note: str = "") -> Evidence:
    """A tensor that no weight file of ``checkpoint`` holds."""
    return Evidence(checkpoint.shown, name, "absent", note)


def shown(value: Any) -> str:
    """A JSON value on one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def either(choices: Sequence[object]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    texts = [str(choice) for choice in choices]
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def listed(names: list[str], most: int = 3) -> str:
    """``a, b, c and 4 more``."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
