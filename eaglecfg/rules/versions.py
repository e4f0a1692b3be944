"""Facts of the same engine in its other known versions; only findings that compare versions come here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.table import load_facts

_load = lru_cache(maxsize=64)(load_facts)


def all_versions(engine: EngineFacts) -> Iterator[EngineFacts]:
    """Facts of every known version of ``engine``, oldest first."""
    for version in engine.known_versions:
        facts = _load(engine.name, version)
        if facts is not None:
            yield facts


def later_versions(engine: EngineFacts) -> Iterator[EngineFacts]:
    """Facts of every known version after the one whose facts apply, oldest first."""
    here = engine.known_versions.index(engine.facts_of)
    for version in engine.known_versions[here + 1 :]:
        facts = _load(engine.name, version)
        if facts is not None:
            yield facts


def newest_version(engine: EngineFacts) -> EngineFacts:
    """Facts of the newest known version."""
    return _load(engine.name, engine.known_versions[-1]) or engine


def in_words(known: Sequence[str], some: Sequence[str]) -> str:
    """A subset of ``known`` (ascending versions) as ranges: ``0.5.9 to 0.5.12, 0.5.17 and later``."""
    runs: list[list[str]] = []
    for index, version in enumerate(known):
        if version not in some:
            continue
        if runs and runs[-1][-1] == known[index - 1]:
            runs[-1].append(version)
        else:
            runs.append([version])
    return ", ".join(_run_in_words(run, known) for run in runs)


def _run_in_words(run: Sequence[str], known: Sequence[str]) -> str:
    if len(run) == 1:
        return run[0]
    return f"{run[0]} and later" if run[-1] == known[-1] else f"{run[0]} to {run[-1]}"
