"""The command line and environment that start a deployment's server."""

from __future__ import annotations

import json
import re
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
        words += argument_words(name, argument.value, facts)
    return words


def argument_words(name: str, value: Any, facts: EngineFacts | None = None) -> list[str]:
    """The option ``name`` and its value as words of a command line; none for a switch that is false."""
    flag = facts.flags.get(name) if facts is not None else None
    option = flag.option if flag is not None and flag.option else "--" + name.replace("_", "-")
    words = _words(option, value, flag.type if flag is not None else "")
    if len(words) == 2 and words[1].startswith("-") and not _NEGATIVE.fullmatch(words[1]):
        return ["=".join(words)]  # as a word of its own the engine's parser takes it for an option
    return words


_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")
"""What argparse takes for a negative number, and so for a value."""


def environment(deployment: Deployment) -> dict[str, str]:
    """Environment variables of the server: ``env`` as it is, the ``nccl`` block with its prefix put back.

    A variable whose value is ``${NAME}`` with its own name is left out: whoever launches hands it on.
    """
    given = {**deployment.env, **{environment_name(key): text for key, text in deployment.nccl.items()}}
    return {name: text for name, text in given.items() if text != handed_on(name)}


def handed_on(name: str) -> str:
    """The value that stands for "as in the environment of whoever launches": ``${NAME}``."""
    return f"${{{name}}}"


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
