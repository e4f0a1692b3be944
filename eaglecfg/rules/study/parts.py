"""What the rules about study files share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eaglecfg.engines.blocks import BLOCKS, canonical, loaded_in_blocks
from eaglecfg.engines.table import load_facts
from eaglecfg.rules.context import Context
from eaglecfg.schema.loaded import LoadedDeployment
from eaglecfg.source.span import KeyPath

if TYPE_CHECKING:
    from eaglecfg.schema.study import StudyFile

SECTIONS = ("target", "draft", "parallel", "speculative", "server", "nccl", "env")
"""Blocks of a deployment that change what is launched. The others only declare."""

WHOLE_BLOCKS = ("speculative", "draft", "nccl")
"""Blocks that one key of the space may choose as a whole."""

UNSET = "unset"
"""A choice that leaves the key out."""


def study_model(context: Context) -> StudyFile | None:
    """The typed study, None where the schema refuses what it cannot do without."""
    return context.study.model if context.study is not None else None


def resolved(context: Context, spelled: str) -> Path:
    """A path as a study file spells it, relative to that file."""
    return Path(context.config.document.folder) / spelled


def state_of(path: Path) -> str:
    """Why ``path`` cannot be read as a file, in words. A name that no file system takes does not exist."""
    if os.path.isdir(path):  # noqa: PTH112 - a Path raises for names that are too long
        return "is a folder"
    return "cannot be read" if os.path.exists(path) else "does not exist"  # noqa: PTH110


def deployment_of(context: Context) -> LoadedDeployment | None:
    """The deployment that the study tunes, every flag in its own block, where its config has it."""
    study = study_model(context)
    if study is None or context.study_config is None:
        return None
    config = context.study_config
    named = next((each for each in config.deployments if each.name == study.deployment), None)
    if named is None or config.engine is None:
        return named
    return loaded_in_blocks(named, load_facts(config.engine.name, config.engine.version))


def split_key(key: str) -> tuple[str, str]:
    """Block and name of a space key, spelled canonically: ``nccl.NCCL_PROTO`` is ``("nccl", "proto")``.

    The name is empty where the key is a block.
    """
    section, _, name = key.partition(".")
    if section == "nccl":
        name = name.lower().replace("-", "_").removeprefix("nccl_")
    elif section in ("server", "parallel", "speculative"):
        name = name.lstrip("-").replace("-", "_")
    return section, name


def setting_of(key: str) -> tuple[str, str]:
    """The one block and name of a space key's setting: ``server.tp_size`` is ``("parallel", "tp_size")``."""
    section, name = split_key(key)
    return BLOCKS.get(canonical(name), (section, name)) if section == "server" else (section, name)


def entries(key: str, value: Any) -> Iterator[tuple[KeyPath, Any]]:
    """The choices of one key of the space with their document paths; a single value is one choice."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield ("space", key, index), item
    else:
        yield ("space", key), value


def block_entries(key: str, value: Any) -> Iterator[tuple[str, KeyPath, Any]]:
    """What the entries of a key that chooses a whole block set: (key of the deployment, path, choice)."""
    for at, item in entries(key, value):
        if not isinstance(item, dict) or is_range(item):
            continue
        for name, given in item.items():
            for index, choice in enumerate(given) if isinstance(given, list) else ((None, given),):
                yield f"{key}.{name}", (*at, name) if index is None else (*at, name, index), choice


def is_range(value: Any) -> bool:
    """Whether a mapping is meant as a range: it has a bound."""
    return isinstance(value, dict) and bool({"low", "high"} & set(value))
