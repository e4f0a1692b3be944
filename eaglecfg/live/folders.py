"""Compares the checkpoints that a server on this machine loaded with those that the config names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglecfg.rules.context import Context

NAMES = {"target": "model_path", "draft": "speculative_draft_model_path"}
MOST = 1 << 20
"""Bytes of a config.json; those of real models have a few KB."""

OF_THE_SAVING = frozenset({"_name_or_path", "transformers_version"})
"""Keys that tell how a file was saved, and not what is in it."""


def differing(context: Context, info: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Keys of config.json, by role, in which the server's folder differs from the config's. A role whose
    folders are one, or cannot both be read here, is left out."""
    folder = Path(context.config.document.folder)
    out: dict[str, tuple[str, ...]] = {}
    for role, named in (("target", context.model.target), ("draft", context.model.draft)):
        found = info.get(NAMES[role])
        if named is None or not isinstance(found, str) or not found.startswith("/") or "\0" in found:
            continue
        here, there = (folder / named.checkpoint).resolve(), Path(found).resolve()
        mine, theirs = _config(here), _config(there)
        if here != there and mine is not None and theirs is not None:
            keys = tuple(
                sorted(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
            )
            out[role] = tuple(key for key in keys if key not in OF_THE_SAVING)
    return {role: keys for role, keys in out.items() if keys}


def _config(folder: Path) -> dict[str, Any] | None:
    """The parsed config.json of a folder; None where there is none that can be read."""
    try:
        with (folder / "config.json").open("rb") as stream:
            data = json.loads(stream.read(MOST + 1))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
