"""How much is launched and measured: three sizes of study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eaglecfg.schema.study import StudyFile
from eaglecfg.tune.trial import MeasurePlan

ANCHOR_EVERY = 8
"""Every eighth launch of the search is the baseline again, to see the machine drift."""

WAVES = 3
"""Requests per block are at least this many times the concurrency, or a block has no steady window."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One size. ``replicates`` is the share of search launches spent on leaders again.

    ``block_seconds`` matter where a block of ``requests`` is over sooner: a small model on a GPU answers 8
    requests in 0.7 s, while the host that feeds it goes through faster and slower stretches of seconds (on an
    H200, steps of 2.7 and of 4.3 ms in one launch; launches of one setting, 1.5 s each, differed by 20 %).
    Beside a start of 40 s and more that costs little; see QUICK_BLOCK_S for servers that start in seconds.
    ``launches`` and ``rounds`` apply where the study names no budget; with one, rounds may rise to
    ``most_rounds``.
    """

    name: str
    blocks: int
    requests: int
    warmup: int
    greedy: int
    greedy_tokens: int
    finalists: int
    rounds: int
    most_rounds: int
    replicates: float
    launches: int
    block_seconds: float
    warmup_seconds: float


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("demo", 2, 8, 1, 4, 16, 2, 3, 3, 0.0, 20, 6.0, 0.5),
        Profile("short", 3, 12, 4, 16, 32, 3, 3, 8, 0.15, 48, 6.0, 1.0),
        Profile("overnight", 4, 24, 8, 32, 32, 5, 5, 16, 0.25, 120, 6.0, 1.5),
    )
}


QUICK_START_S = 4.0
"""Start of a server that ships with eaglecfg, on a CPU with a small model."""

QUICK_BLOCK_S = 2.5
"""What ``block_seconds`` comes to at most for such a server, whose launches would else be measuring alone."""

ENGINE_START_S = 70.0
"""Start of SGLang with an 8B model on two H200, caches warm: 57 to 78 s were seen."""

ASSUMED_TOKENS_PER_S = 150.0
"""Output tokens per second of one request, until launches have been seen: the order of an 8B model."""


def ships_with_eaglecfg(prefix: Sequence[str]) -> bool:
    """Whether a launch prefix starts one of our own servers."""
    return any(flag == "-m" and name.startswith("eaglecfg.") for flag, name in pairwise(prefix))


def assumed_launch_s(prefix: Sequence[str], plan: MeasurePlan, start_s: float | None = None) -> float:
    """Seconds that one launch is assumed to take: start (``start_s``, where the study says it), two windows
    of warm-up, blocks, greedy check."""
    start = QUICK_START_S if ships_with_eaglecfg(prefix) else start_s or ENGINE_START_S
    count, tokens = plan.whole_check if plan.greedy_check and plan.temperature > 0 else (0, 0)
    seconds = count * tokens / ASSUMED_TOKENS_PER_S
    for level in plan.concurrency:
        block, window = max(plan.requests_per_block, level), max(plan.warmup_requests, level)
        each = plan.output_tokens / level / ASSUMED_TOKENS_PER_S
        seconds += plan.blocks * max(block * each, plan.block_seconds)
        seconds += 2 * max(window * each, plan.warmup_seconds)
    return start + seconds


def measure_plan(study: StudyFile, prefix: Sequence[str]) -> MeasurePlan:
    """The load of every launch of ``study`` that starts its servers with ``prefix``."""
    profile, workload = PROFILES[study.profile], study.workload
    seconds = profile.block_seconds
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
        greedy_check=profile.greedy if study.step_cost is None else 0,
        greedy_tokens=min(profile.greedy_tokens, workload.output_tokens),
        block_seconds=min(seconds, QUICK_BLOCK_S) if ships_with_eaglecfg(prefix) else seconds,
        warmup_seconds=profile.warmup_seconds,
    )
