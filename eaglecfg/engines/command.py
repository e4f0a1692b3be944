"""The command line and environment that start a deployment's server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.arguments import arguments
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.schema.deployment import Deployment


def launch_arguments(deployment: Deployment, facts: EngineFacts | None = None) -> list[str]:
    """The engine's arguments for ``deployment``, one list item per word, checkpoints as they are spelled.

    A switch that is false is left out, since the engine's switches only turn things on.
    """
    words: list[str] = []
    for name, argument in arguments(deployment, facts).items():
        flag = facts.flags.get(name) if facts is not None else None
        option = flag.option if flag is not None and flag.option else "--" + name.replace("_", "-")
        words += _words(option, argument.value, flag.type if flag is not None else "")
    return words


def environment(deployment: Deployment) -> dict[str, str]:
    """Environment variables of the server: ``env`` as it is, the ``nccl`` block with its prefix put back."""
    return {**deployment.env, **{environment_name(key): text for key, text in deployment.nccl.items()}}


def environment_name(key: str) -> str:
    """The environment's name for a key of the ``nccl`` block: ``p2p_level`` -> ``NCCL_P2P_LEVEL``."""
    plain = key.upper().replace("-", "_")
    return plain if plain.startswith("NCCL_") else f"NCCL_{plain}"


def _words(option: str, value: Any, kind: str) -> list[str]:
    if isinstance(value, bool):
        return [option] if value else []
    if isinstance(value, Mapping) or (isinstance(value, list) and kind == "json"):
        return [option, json.dumps(value)]
    if isinstance(value, list):
        return [option, *map(_text, value)]
    return [option, _text(value)]


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (Mapping, list)) else str(value)
