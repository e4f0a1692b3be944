"""What may be claimed from launches: no winner where there is none, and the true best never left out."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from eaglecfg.tune import statistics
from eaglecfg.tune.statistics import compare, holm, launch_spread, resolvable, rounds_for, shrunken

Scores = dict[str, list[float]]


def rounds(rng: random.Random, effects: Sequence[float], spreads: Sequence[float], count: int) -> Scores:
    drift = [rng.gauss(0, 0.01) for _ in range(count)]
    return {
        str(arm): [effect + drift[index] + rng.gauss(0, spread) for index in range(count)]
        for arm, (effect, spread) in enumerate(zip(effects, spreads, strict=True))
    }


def share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_equal_settings_rarely_give_a_winner(count: int) -> None:
    rng = random.Random(count)
    hits = []
    for _ in range(400):
        found = compare(rounds(rng, [0.0] * 5, [0.02] * 5, count), "0")
        hits.append(any(item.better for item in found.comparisons))
    assert share(hits) <= 0.05


@pytest.mark.parametrize("noisy", [0, 3])
def test_one_noisy_setting_does_not_make_winners(noisy: int) -> None:
    rng = random.Random(7)
    spreads = [0.04 if arm == noisy else 0.002 for arm in range(4)]
    hits = []
    for _ in range(400):
        found = compare(rounds(rng, [0.0] * 4, spreads, 3), "0")
        hits.append(any(item.better for item in found.comparisons))
    assert share(hits) <= 0.07


@pytest.mark.parametrize("count", [3, 8])
def test_intervals_hold_the_truth_for_all_settings_together(count: int) -> None:
    rng = random.Random(count)
    effects = [0.0, 0.01, 0.03, 0.05, -0.1]
    covered, tied, errors = [], [], []
    for _ in range(400):
        found = compare(rounds(rng, effects, [0.02] * 5, count), "0")
        covered.append(
            all(item.low <= math.exp(effects[int(item.arm)]) <= item.high for item in found.comparisons)
        )
        tied.append("3" in found.ties)
        errors += [item.ratio / math.exp(effects[int(item.arm)]) - 1 for item in found.comparisons]
    assert share(covered) >= 0.93
    assert share(tied) >= 0.95
    assert abs(sum(errors) / len(errors)) < 0.003


@pytest.mark.parametrize("spread", [0.02, 0.095])
@pytest.mark.parametrize(("arms", "count"), [(5, 3), (20, 3), (20, 8)])
def test_a_setting_as_good_as_the_luckiest_stays_among_the_ties(arms: int, count: int, spread: float) -> None:
    rng = random.Random(arms + count)
    kept, whole = [], []
    for _ in range(200):
        ties = compare(rounds(rng, [0.0] * arms, [spread] * arms, count), "0").ties
        kept += [str(arm) in ties for arm in range(arms)]
        whole.append(len(ties) == arms)
    assert share(kept) >= 0.95
    assert share(whole) >= 0.8


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_a_baseline_that_nothing_is_shown_to_beat_is_tied_with_the_best(count: int) -> None:
    rng = random.Random(count)
    beaten = []
    for _ in range(400):
        effects = [0.0, *(rng.uniform(-0.1, 0.25) for _ in range(4))]
        found = compare(rounds(rng, effects, [0.05] * 5, count), "0")
        above = any(item.arm == found.best and item.low > 1 for item in found.comparisons)
        beaten.append(above)
        assert above or "0" in found.ties
    assert 0.1 < share(beaten) < 0.95


@pytest.mark.parametrize(("count", "arms"), [(3, 5), (5, 6), (8, 6)])
def test_the_gain_that_is_promised_is_found_as_often_as_promised(count: int, arms: int) -> None:
    gain = math.log1p(resolvable(0.02, count, arms))
    rng = random.Random(count)
    hits = [
        compare(rounds(rng, [0.0] * (arms - 1) + [gain], [0.02] * arms, count), "0").comparisons[0].better
        for _ in range(400)
    ]
    assert 0.7 <= share(hits) <= 0.9


def test_more_launches_resolve_smaller_gains() -> None:
    assert resolvable(0.02, 16, 2) == pytest.approx(0.02, abs=0.002)
    assert resolvable(0.02, 1, 5) == math.inf
    assert rounds_for(0.04, 0.02, 6) < rounds_for(0.02, 0.02, 6) < rounds_for(0.01, 0.02, 6)


def test_a_clear_gain_is_reported_with_its_factor() -> None:
    scores = {"base": [0.0, 0.01, 0.005], "fast": [0.2, 0.21, 0.207], "slow": [-0.3, -0.29, -0.3]}
    found = compare(scores, "base")
    fast, slow = found.comparisons
    assert (found.best, found.ties) == ("fast", ("fast",))
    assert fast.ratio == pytest.approx(math.exp(0.2007), rel=1e-3)
    assert fast.better
    assert not slow.better
    assert slow.high < 1


def test_launches_without_any_spread_still_compare() -> None:
    found = compare({"base": [0.0, 0.0], "fast": [0.1, 0.1], "same": [0.0, 0.0]}, "base")
    by_arm = {item.arm: item for item in found.comparisons}
    assert by_arm["fast"].p_holm == 0.0
    assert by_arm["same"].p == 1.0


def test_one_launch_is_not_compared() -> None:
    with pytest.raises(ValueError, match="two rounds"):
        compare({"base": [0.0], "fast": [0.1]}, "base")


def test_holm_steps_down_and_never_falls() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})


def test_spread_comes_from_repeated_launches_alone() -> None:
    found = launch_spread({"a": [0.0, 0.02], "b": [1.0], "c": [0.5, 0.52, 0.51]})
    assert found is not None
    assert found == pytest.approx((math.sqrt((0.0002 + 0.0002) / 3), 3))
    assert launch_spread({"a": [0.0]}) is None


def test_single_launches_are_pulled_to_the_middle_more_than_repeated_ones() -> None:
    scores = {"once": [0.10], "often": [0.10] * 6, "low": [-0.1, -0.1], "mid": [0.0, 0.0]}
    pulled = shrunken(scores, 0.05)
    assert pulled["once"] < pulled["often"] < 0.10
    assert pulled["low"] > -0.1


def test_best_of_many_equal_settings_is_not_believed() -> None:
    rng = random.Random(1)
    singles = {str(arm): [rng.gauss(0, 0.025)] for arm in range(120)}
    assert max(values[0] for values in singles.values()) > 0.05
    assert max(shrunken(singles, 0.025).values()) < 0.02


def test_a_full_t_quantile_is_used_not_the_normal_one() -> None:
    assert statistics.t_quantile(0.975, 4) == pytest.approx(2.7764, abs=1e-4)
    assert statistics.t_two_sided(2.7764, 4) == pytest.approx(0.05, abs=1e-4)
