"""A checkpoint that is named by a hub id: from the local hub cache or, only where asked for, from the hub."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from eaglecfg.checkpoint.facts import CheckpointFacts, FileProblem
from eaglecfg.checkpoint.fault import FileFault, legible, listed
from eaglecfg.checkpoint.hubcache import find_snapshot
from eaglecfg.checkpoint.hubid import HUB, HubAccess, HubId, HubSource, hub_id
from eaglecfg.checkpoint.load import read_folder
from eaglecfg.record import replace

ABSENT = (
    "missing-config",
    "missing-code",
    "missing-file",
    "missing-number",
    "missing-shard",
    "no-weights",
)
"""Problems that in a cache mean: not downloaded yet. The engine fetches such files when it starts."""


def named_here(base: Path, spelled: str, revision: str | None) -> HubId | None:
    """``spelled`` as a hub id, unless its first part is a folder in ``base``: then a path is meant."""
    named = hub_id(spelled, revision)
    first = os.path.join(base, spelled.partition("/")[0])  # noqa: PTH118
    return None if named is None or os.path.isdir(first) else named  # noqa: PTH112


def read_hub(
    hub: HubId,
    shown: str,
    *,
    role: Literal["target", "draft"],
    deep: bool,
    access: Callable[[], HubAccess] | None,
) -> CheckpointFacts:
    """The facts of a model of the hub. Why there are none is in ``problems``; nothing is raised."""
    return _read(hub, shown, role, deep, access() if access is not None else HubAccess())


def _read(
    hub: HubId, shown: str, role: Literal["target", "draft"], deep: bool, access: HubAccess
) -> CheckpointFacts:
    try:
        found = find_snapshot(access.cache, hub, shown)
        cached = None
        if found is not None and (hub.fixed or not access.online):
            source = HubSource(hub, found.commit)
            cached = read_folder(found.folder, shown, role=role, deep=deep, hub=source)
            if not access.online or not _absent(cached):
                return _as_cached(cached, hub, shown)
        if not access.online:
            return _unread(hub, shown, _not_cached(access, hub, shown))
        from eaglecfg.checkpoint.online import fetch  # brings an HTTP client along

        snapshot, problems = fetch(hub, shown, access, everything=deep or role == "draft")
        source = HubSource(hub, snapshot.commit, headers_only=True)
        facts = read_folder(snapshot.folder, shown, role=role, deep=deep, hub=source)
    except FileFault as fault:
        return _unread(hub, shown, fault.problem)
    if problems:
        rest = (problem for problem in facts.problems if problem.kind != "no-weights")
        return replace(facts, problems=(*problems, *rest))
    return facts


def _unread(hub: HubId, shown: str, problem: FileProblem) -> CheckpointFacts:
    return CheckpointFacts("", shown, None, problems=(problem,), hub=HubSource(hub))


def _not_cached(access: HubAccess, hub: HubId, shown: str) -> FileProblem:
    at = f" at {legible(hub.revision)}" if hub.asked else ""
    where = "the hub cache does not have it" if access.cache else "no hub cache is known"
    message = f"{shown} is no folder here; as a hub id it is not read, because {where}{at}"
    return FileProblem("not-local", shown, message, _help(hub), True, HUB)


def _absent(facts: CheckpointFacts) -> list[FileProblem]:
    return [problem for problem in facts.problems if problem.kind in ABSENT]


def _as_cached(facts: CheckpointFacts, hub: HubId, shown: str) -> CheckpointFacts:
    """``facts`` of a cache, which may hold a part of the model: what lacks is no fault of it."""
    absent = _absent(facts)
    if not absent:
        return facts
    what = listed(list(dict.fromkeys(_what(problem, shown) for problem in absent)))
    message = f"the hub cache holds only a part of {shown}: {what} not downloaded"
    problem = FileProblem("not-local", shown, message, _help(hub), True, HUB)
    rest = (problem for problem in facts.problems if problem.kind not in ABSENT)
    return replace(facts, problems=(problem, *rest))


def _what(problem: FileProblem, shown: str) -> str:
    if problem.kind == "no-weights":
        return "weight files"
    if problem.kind in ("missing-code", "missing-number"):
        return problem.text if problem.kind == "missing-code" else problem.key
    return problem.file.removeprefix(f"{shown}/")


def _help(hub: HubId) -> str:
    revision = f" --revision {hub.revision}" if hub.asked else ""
    return f"run `hf download {hub.repo}{revision}`, or add --online to read headers from the hub"
