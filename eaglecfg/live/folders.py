"""Compares the checkpoints that a server on this machine loaded with those that the config names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.fault import FileFault
from eaglecfg.checkpoint.jsonfiles import read_config
from eaglecfg.checkpoint.regular import opened, read_range
from eaglecfg.rules.context import Context
from eaglecfg.rules.live.running import Differing

NAMES = {"target": "model_path", "draft": "speculative_draft_model_path"}
OF_THE_SAVING = frozenset({"_name_or_path", "transformers_version"})
"""Keys that tell how a file was saved, and not what is in it."""

MOST_FILES = 64
"""Weight files of one checkpoint that are looked into: a target may have hundreds, all of one save."""

SAMPLES, SAMPLE = 16, 1 << 16
"""Pieces of a weight file that are compared, and their bytes: other weights differ in every one."""


def differing(context: Context, info: Mapping[str, Any]) -> dict[str, Differing]:
    """What differs, by role, between the server's folder and the config's. A role whose folders are one, or
    cannot both be read here, is left out."""
    out: dict[str, Differing] = {}
    for role, facts in (("target", context.target), ("draft", context.draft)):
        found = info.get(NAMES[role])
        if facts is None or facts.config is None or facts.hub is not None:
            continue
        if not isinstance(found, str) or not found.startswith("/") or "\0" in found:
            continue
        theirs, _ = read_config(found, found)
        if theirs is None or Path(found).resolve() == Path(facts.folder).resolve():
            continue
        mine, other = facts.config.raw, theirs.raw
        keys = sorted(key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key))
        told = Differing(
            tuple(key for key in keys if key not in OF_THE_SAVING), tuple(_other_weights(facts, found))
        )
        if told.keys or told.files:
            out[role] = told
    return out


def _other_weights(facts: CheckpointFacts, found: str) -> Iterator[str]:
    """The weight files of the config's folder that the server's folder has with other content."""
    weights = [file for file in facts.files if file.endswith((".safetensors", ".bin"))]
    for file in weights[:MOST_FILES]:
        if _unlike(f"{facts.folder}/{file}", f"{found}/{file}"):
            yield file


def _unlike(mine: str, theirs: str) -> bool:
    """Whether two files that can both be read differ in size, at their beginning, or in a sample."""
    try:
        with opened(mine, mine) as (one, size), opened(theirs, theirs) as (other, its_size):
            if size != its_size:
                return True
            step = max(SAMPLE, size // SAMPLES)
            return any(
                read_range(one, at, SAMPLE, mine) != read_range(other, at, SAMPLE, theirs)
                for at in range(0, size, step)
            )
    except FileFault:
        return False
