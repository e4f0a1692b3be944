"""How much faster a setting is than a baseline: by the rounds, else by launches of one stretch of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eaglecfg.tune.history import ROUND, History, Launch
from eaglecfg.tune.statistics import MARGIN, Analysis, mean


@dataclass(frozen=True, slots=True)
class Gain:
    """One setting against a baseline, as factors. ``low`` and ``high`` are None where the rounds do not
    compare the two. ``levels`` are the factors by concurrency, of which ``ratio`` is the geometric mean."""

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    levels: Mapping[int, float] = field(default_factory=dict)

    @property
    def slower_at(self) -> Mapping[int, float]:
        """Concurrencies at which the setting loses more than the margin, though it is faster on the whole."""
        lost = {level: ratio for level, ratio in self.levels.items() if ratio < 1 - MARGIN}
        return lost if self.ratio > 1.0 else {}


def gain_of(
    history: History,
    key: str,
    base: str,
    own: Sequence[Launch],
    analysis: Analysis | None,
    rounds: Mapping[str, Sequence[Launch]],
) -> Gain | None:
    """What ran as ``key`` against what ran as ``base``; None where the two are one, or were never measured
    with the same prompts. ``own`` are the launches that speak for ``key``, ``rounds`` those of the rounds
    that ``analysis`` is of."""
    if base == key:
        return None
    found = next((item for item in analysis.comparisons if item.arm == key), None) if analysis else None
    if found is not None and analysis is not None and analysis.baseline == base:
        pairs = list(zip(rounds[key], rounds[base], strict=True))
        levels = {
            level: math.exp(mean([one.scores[level] - other.scores[level] for one, other in pairs]))
            for level in _common_levels([item for pair in pairs for item in pair])
        }
        return Gain(found.ratio, found.low, found.high, found.p_holm, levels)
    gaps = _gaps(history, own, history.of(base))
    if not gaps:
        return None
    logs = {level: mean(values) for level, values in sorted(gaps.items())}
    return Gain(
        math.exp(mean(list(logs.values()))),
        None,
        None,
        None,
        {level: math.exp(value) for level, value in logs.items()},
    )


def _common_levels(launches: Sequence[Launch]) -> list[int]:
    return sorted(set.intersection(*(set(item.scores) for item in launches)))


def _gaps(history: History, own: Sequence[Launch], base: Sequence[Launch]) -> dict[int, list[float]]:
    """By concurrency, how far (logs) each launch lies above the baseline's of its own stretch of time."""
    gaps: dict[int, list[float]] = {}
    for item in own:
        others = [other for other in base if _beside(item, other)]
        if not others and item.phase != ROUND:
            others = [other for other in base if other.phase != ROUND]
        for level, score in item.scores.items():
            seen = [other for other in others if level in other.scores]
            if level in item.curtailed:
                seen = [other for other in seen if level in other.blocks]
            if seen:
                there = mean([_like(history, item, other, level) for other in seen])
                here = mean(item.blocks[level]) if level in item.curtailed else score
                gaps.setdefault(level, []).append(here - there)
    return gaps


def _beside(one: Launch, other: Launch) -> bool:
    """Whether two launches met the same prompts and the same machine: one round, or one stretch of the
    search between two moves of its speed."""
    if ROUND in (one.phase, other.phase):
        return one.phase == other.phase and one.round == other.round
    return one.segment == other.segment


def _like(history: History, item: Launch, other: Launch, level: int) -> float:
    """The score of ``other`` over the blocks that ``item`` has, at the machine's speed of ``item``'s time."""
    moved = history.moves.get(item.segment, 0.0) - history.moves.get(other.segment, 0.0)
    if item.phase == ROUND:
        moved = 0.0
    if level not in item.curtailed:
        return other.scores[level] + moved
    return mean(other.blocks[level][: len(item.blocks[level])]) + moved
