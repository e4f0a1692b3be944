"""Short names of settings, for tables and progress."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eaglecfg.rules.study.parts import UNSET
from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.arm import OFF, changed_keys, setting, tree

DISABLE = "disable_"


def label_of(deployment: Deployment, keys: tuple[str, ...], base: Deployment) -> str:
    """A short name: what ``keys`` of the space are in ``deployment``, and what else differs from ``base``."""
    data, before = tree(deployment), tree(base)
    searched = any(setting(key)[0] == "speculative" for key in keys)
    words = [_shape_words(data)] if searched or _shape_words(data) != _shape_words(before) else []
    # nccl as a whole and nccl.nthreads may both be searched: a setting is named once.
    named = list(dict.fromkeys(path for key in keys for path in _settings(key, data, before)))
    # A key with one choice says nothing, except where it sets an arm apart from the deployment as it stands.
    fixed = [tuple(key.split(".", 1)) for key in changed_keys(base, deployment)]
    for path in [*named, *(path for path in fixed if path not in named)]:
        if path[0] == "speculative":
            continue
        new, old = _get(data, path), _get(before, path)
        if new is None and old is None:
            continue
        words.append(_named(path[-1], False if new is None and old is True else new))
    return ", ".join(words) or "as it stands"


def _settings(key: str, data: Mapping[str, Any], before: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The settings of a space key: every one of its block where it chooses NCCL's as a whole."""
    path = setting(key)
    if path != ("nccl",):
        return [path]
    names = [name for tree in (data, before) for name in tree.get("nccl", {})]
    return [("nccl", name) for name in dict.fromkeys(names)]


def _shape_words(data: Mapping[str, Any]) -> str:
    shape = data.get("speculative")
    if shape == OFF or "draft" not in data:
        return OFF
    if not isinstance(shape, dict) or shape.get("num_steps") is None:
        return "engine's own steps"
    steps, topk = shape["num_steps"], shape.get("eagle_topk")
    words = f"{steps} step{'' if steps == 1 else 's'}"
    if topk not in (None, 1):
        words += f" topk {topk}"
    tokens = shape.get("num_draft_tokens")
    if tokens not in (None, steps + 1):
        words += f" {tokens} draft tokens"
    return words


def _named(name: str, value: Any) -> str:
    """A setting and its value; of a switch that disables something, whether that is on."""
    if name.startswith(DISABLE) and isinstance(value, bool):
        name, value = name.removeprefix(DISABLE), not value
    return f"{name} {_word(value)}"


def _get(data: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = data
    for part in path:
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    return found


def _word(value: Any) -> str:
    if value is None:
        return UNSET
    if isinstance(value, bool):
        return "on" if value else OFF
    return str(value) if isinstance(value, (str, int, float)) else json.dumps(value, separators=(",", ":"))
