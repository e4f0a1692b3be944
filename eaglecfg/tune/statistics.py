"""What launches prove. The launch is the unit: blocks inside one launch are not independent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MARGIN = 0.02
"""Settings whose difference is not shown to exceed this are tied: below it no user would notice."""

ENOUGH_ROUNDS = 5
"""Rounds from which each pair's own spread is used. With fewer it is the larger of that and the spread pooled
over all settings: pooling alone gives 9 % false winners in three rounds where one setting is 20 times
noisier
than the rest, this 5 %."""

PAIRED = "paired t over rounds"
CAUTIOUS = "t over rounds, the larger of own and pooled spread"

MOST_ROUNDS = 1000
"""Where the search for a number of launches that would do ends."""

CAUTION = 1.1
"""How much wider taking the larger of two spreads makes an interval, on average."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One setting against the baseline. ``ratio``, ``low`` and ``high`` are factors: 1.05 is 5 % faster.

    ``p`` is two-sided, ``p_holm`` corrected for the number of settings. The intervals are wide enough to
    hold for all settings together (Bonferroni), so the best of them may be picked.
    """

    arm: str
    ratio: float
    low: float
    high: float
    p: float
    p_holm: float

    @property
    def better(self) -> bool:
        """Shown to be faster than the baseline."""
        return self.low > 1.0


@dataclass(frozen=True, slots=True)
class Analysis:
    """The finals. ``comparisons`` are ordered best first, ``ties`` hold the best and its equals.

    ``spread`` is the standard deviation of one launch as a share of its mean, ``freedom`` its degrees of
    freedom. ``method`` says in words how the intervals were made.
    """

    baseline: str
    comparisons: tuple[Comparison, ...]
    best: str
    ties: tuple[str, ...]
    rounds: int
    spread: float
    freedom: float
    method: str


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; of an empty sequence, nan."""
    return math.fsum(values) / len(values) if values else math.nan


def variance(values: Sequence[float]) -> float:
    """Sample variance (n - 1)."""
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def t_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def t_two_sided(statistic: float, freedom: float) -> float:
    """Two-sided p-value of a t statistic."""
    from scipy.special import stdtr

    return 2.0 * float(stdtr(freedom, -abs(statistic)))


def _centred(rounds: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Scores less the mean of their round, so that a change that hits a whole round drops out."""
    count = len(next(iter(rounds.values())))
    middle = [mean([scores[index] for scores in rounds.values()]) for index in range(count)]
    return {
        arm: [score - centre for score, centre in zip(scores, middle, strict=True)]
        for arm, scores in rounds.items()
    }


def _pooled(rounds: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Variance of one launch and its degrees of freedom, arm and round effects removed."""
    arms = len(rounds)
    count = len(next(iter(rounds.values())))
    freedom = (arms - 1) * (count - 1)
    if freedom < 1:
        return math.nan, 0
    total = 0.0
    for scores in _centred(rounds).values():
        centre = mean(scores)
        total += math.fsum((score - centre) ** 2 for score in scores)
    return total / freedom, freedom


def _difference(rounds: Mapping[str, Sequence[float]], one: str, two: str) -> tuple[float, float, float]:
    """Mean of ``one`` less ``two``, its standard error, degrees of freedom. Scores are logs."""
    gaps = [a - b for a, b in zip(rounds[one], rounds[two], strict=True)]
    if len(gaps) >= ENOUGH_ROUNDS:
        return mean(gaps), math.sqrt(variance(gaps) / len(gaps)), len(gaps) - 1
    pooled, freedom = _pooled(rounds)
    return mean(gaps), math.sqrt(max(2.0 * pooled, variance(gaps)) / len(gaps)), freedom


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values corrected for their number, step by step from the smallest."""
    corrected: dict[str, float] = {}
    running = 0.0
    for index, arm in enumerate(sorted(p_values, key=lambda arm: p_values[arm])):
        running = max(running, min(1.0, p_values[arm] * (len(p_values) - index)))
        corrected[arm] = running
    return corrected


def compare(
    rounds: Mapping[str, Sequence[float]], baseline: str, *, alpha: float = 0.05, margin: float = MARGIN
) -> Analysis:
    """Compare every arm of ``rounds`` (log scores, one per round, equally many) with ``baseline``.

    Raises ValueError for fewer than two rounds or arms: nothing can be said about one launch.
    """
    counts = {len(scores) for scores in rounds.values()}
    if len(counts) != 1 or min(counts) < 2 or len(rounds) < 2:
        raise ValueError("needs at least two arms and two rounds of equal length")
    count = counts.pop()
    others = [arm for arm in rounds if arm != baseline]
    found = {arm: _difference(rounds, arm, baseline) for arm in others}
    p_values = {arm: _p_value(*found[arm]) for arm in others}
    corrected = holm(p_values)
    comparisons = []
    for arm in others:
        gap, error, freedom = found[arm]
        reach = t_quantile(1 - alpha / 2 / len(others), freedom) * error
        factors = math.exp(gap), math.exp(gap - reach), math.exp(gap + reach)
        comparisons.append(Comparison(arm, *factors, p_values[arm], corrected[arm]))
    best = max(rounds, key=lambda arm: mean(rounds[arm]))
    pooled, freedom = _pooled(rounds)
    return Analysis(
        baseline,
        tuple(sorted(comparisons, key=lambda item: -item.ratio)),
        best,
        tie_set(rounds, best, alpha=alpha, margin=margin),
        count,
        math.sqrt(pooled),
        freedom,
        PAIRED if count >= ENOUGH_ROUNDS else CAUTIOUS,
    )


def _p_value(gap: float, error: float, freedom: float) -> float:
    if error == 0.0:
        return 1.0 if gap == 0.0 else 0.0
    return t_two_sided(gap / error, freedom)


def tie_set(
    rounds: Mapping[str, Sequence[float]], best: str, *, alpha: float = 0.05, margin: float = MARGIN
) -> tuple[str, ...]:
    """``best`` and every arm whose loss against it is not shown to exceed ``margin``, best first.

    What leads of many arms was lucky, so the level is shared among all of them, and it is the level of the
    intervals: where the best is not shown to beat the baseline, the baseline is tied with it.
    """
    kept = [best]
    level = 1 - alpha / 2 / max(len(rounds) - 1, 1)
    for arm in rounds:
        if arm == best:
            continue
        gap, error, freedom = _difference(rounds, best, arm)
        if gap - t_quantile(level, freedom) * error <= math.log1p(margin):
            kept.append(arm)
    return tuple(sorted(kept, key=lambda arm: -mean(rounds[arm])))


def launch_spread(scores: Mapping[str, Sequence[float]]) -> tuple[float, int] | None:
    """Standard deviation of one launch (log scores) over arms launched again, and its degrees of freedom."""
    again = [values for values in scores.values() if len(values) > 1]
    freedom = sum(len(values) - 1 for values in again)
    if not freedom:
        return None
    return math.sqrt(math.fsum(variance(values) * (len(values) - 1) for values in again) / freedom), freedom


def shrunken(scores: Mapping[str, Sequence[float]], spread: float) -> dict[str, float]:
    """Means pulled towards the mean of all arms, the more the fewer launches: the best of many values lies.

    ``scores`` are logs by arm, ``spread`` the standard deviation of one launch on the same scale.
    """
    means = {arm: mean(values) for arm, values in scores.items() if values}
    if len(means) < 3:
        return means
    centre = mean(list(means.values()))
    launches = mean([1.0 / len(scores[arm]) for arm in means])
    between = max(variance(list(means.values())) - spread**2 * launches, 0.0)
    if between == 0.0:
        return dict.fromkeys(means, centre)
    weight = spread**2 / between
    return {
        arm: centre + len(scores[arm]) / (len(scores[arm]) + weight) * (value - centre)
        for arm, value in means.items()
    }


def resolvable(spread: float, rounds: int, arms: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The gain that ``rounds`` launches per arm find with probability ``power``, as a share (0.04 is 4 %).

    ``arms`` counts the baseline. The level is that of the first Holm step over ``arms`` - 1 comparisons.
    """
    freedom = rounds - 1 if rounds >= ENOUGH_ROUNDS else (arms - 1) * (rounds - 1)
    if rounds < 2 or freedom < 1:
        return math.inf
    reach = t_quantile(1 - alpha / 2 / (arms - 1), freedom) + t_quantile(power, freedom)
    caution = CAUTION if rounds < ENOUGH_ROUNDS else 1.0
    return math.expm1(caution * reach * spread * math.sqrt(2.0 / rounds))


def rounds_for(gain: float, spread: float, arms: int) -> int:
    """Launches per arm from which ``gain`` (a share) is resolvable; at most MOST_ROUNDS."""
    counts = range(2, MOST_ROUNDS)
    return next((count for count in counts if resolvable(spread, count, arms) <= gain), MOST_ROUNDS)
