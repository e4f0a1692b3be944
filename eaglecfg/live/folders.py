"""Compares the checkpoints that a server on this machine loaded with those that the config names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglecfg.checkpoint.jsonfiles import read_config
from eaglecfg.rules.context import Context

NAMES = {"target": "model_path", "draft": "speculative_draft_model_path"}
OF_THE_SAVING = frozenset({"_name_or_path", "transformers_version"})
"""Keys that tell how a file was saved, and not what is in it."""


def differing(context: Context, info: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Keys of config.json, by role, in which the server's folder differs from the config's. A role whose
    folders are one, or cannot both be read here, is left out."""
    out: dict[str, tuple[str, ...]] = {}
    for role, facts in (("target", context.target), ("draft", context.draft)):
        found = info.get(NAMES[role])
        if facts is None or facts.config is None or facts.hub is not None:
            continue
        if not isinstance(found, str) or not found.startswith("/") or "\0" in found:
            continue
        theirs, _ = read_config(found, found)
        if theirs is not None and Path(found).resolve() != Path(facts.folder).resolve():
            mine, other = facts.config.raw, theirs.raw
            keys = sorted(key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key))
            out[role] = tuple(key for key in keys if key not in OF_THE_SAVING)
    return {role: keys for role, keys in out.items() if keys}
