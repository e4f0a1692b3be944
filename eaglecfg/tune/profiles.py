"""How much is launched and measured: three sizes of study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eaglecfg.schema.study import StudyFile
from eaglecfg.tune.trial import MeasurePlan

ANCHOR_EVERY = 8
"""Every eighth launch of the search is the baseline again, to see the machine drift."""

WAVES = 3
"""Requests per block are at least this many times the concurrency, or a block has no steady window."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One size. ``replicates`` is the share of search launches spent on leaders again.

    ``launches`` and ``rounds`` apply where the study names no budget; with one, rounds may rise to
    ``most_rounds``. ``measure_s`` is what warm-up and blocks are assumed to take until launches have been
    seen.
    """

    name: str
    blocks: int
    requests: int
    warmup: int
    greedy: int
    finalists: int
    rounds: int
    most_rounds: int
    replicates: float
    launches: int
    measure_s: float


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("demo", 2, 4, 1, 2, 2, 3, 3, 0.0, 20, 4.0),
        Profile("short", 3, 24, 4, 16, 3, 3, 8, 0.15, 48, 60.0),
        Profile("overnight", 4, 64, 8, 32, 5, 5, 16, 0.25, 120, 120.0),
    )
}


def measure_plan(study: StudyFile) -> MeasurePlan:
    """The load of every launch of ``study``."""
    profile, workload = PROFILES[study.profile], study.workload
    concurrency = tuple(sorted(set(study.objective.concurrency), reverse=True))
    return MeasurePlan(
        concurrency=concurrency,
        blocks=profile.blocks,
        requests_per_block=max(profile.requests, WAVES * max(concurrency) if max(concurrency) > 1 else 1),
        output_tokens=workload.output_tokens,
        ignore_eos=workload.ignore_eos,
        temperature=workload.temperature,
        seed=study.seed,
        warmup_requests=profile.warmup,
        greedy_check=profile.greedy,
        greedy_tokens=min(32, workload.output_tokens),
    )
