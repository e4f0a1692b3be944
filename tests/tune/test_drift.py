"""A machine whose speed moves during a search: noticed, measured again, and never taken for a gain."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.history import History
from eaglecfg.tune.ranking import scores
from eaglecfg.tune.results import make_results
from eaglecfg.tune.schedule import Finished
from eaglecfg.tune.tables import footnotes
from tests.tune.simulate import Simulation, make
from tests.tune.test_schedule import WIDE, by_steps, flat

STEADY = 0.001


def study(weather: Callable[[int], float], *, spread: float = STEADY, seed: int = 0) -> Simulation:
    """A screening over noise-free settings, with weather by launch number."""
    return Simulation(
        make(WIDE, profile="short", seed=seed), by_steps, random.Random(seed), spread=spread, weather=weather
    )


def step_at(number: int, change: float) -> Callable[[int], float]:
    return lambda launch: math.log1p(change) if launch >= number else 0.0


def drifts(simulation: Simulation) -> list[dict[str, object]]:
    return [dict(event.data) for event in simulation.events if event.kind == "drift"]


def test_a_steady_machine_has_no_drift() -> None:
    simulation = study(lambda number: 0.0)
    simulation.run()
    assert not drifts(simulation)


@pytest.mark.parametrize("change", [-0.2, -0.08, 0.08, 0.2])
def test_a_move_is_confirmed_and_what_was_measured_meanwhile_is_measured_again(change: float) -> None:
    simulation = study(step_at(12, change))
    simulation.run()
    (found,) = drifts(simulation)
    assert found["change"] == pytest.approx(math.log1p(change), abs=0.01)
    # Baselines are launches 2, 8 and 16; 17 confirms; 9 to 15 lie between the last good one and the move.
    assert found["since"] == [16, 17]
    assert found["aside"] == list(range(9, 16))
    again = [step.arm.key for step in simulation.steps[17:] if step.phase == "search"]
    assert {step.arm.key for step in simulation.steps[8:15]} <= set(again)


def test_the_ranking_is_that_of_a_steady_machine() -> None:
    simulation = study(step_at(12, -0.2))
    simulation.run()
    told = {arm: sum(values) / len(values) for arm, values in scores(simulation.history, "search").items()}
    arms = {arm.key: arm for arm in simulation.design.arms}
    assert set(told) == set(arms)
    for key, value in told.items():
        assert value == pytest.approx(by_steps(arms[key]), abs=0.02)


def test_one_odd_launch_of_the_baseline_is_no_move() -> None:
    simulation = study(lambda number: -0.3 if number == 8 else 0.0)
    simulation.run()
    assert not drifts(simulation)
    assert [step.again for step in simulation.steps if step.again] == ["its speed moved"]


def test_a_small_move_is_none() -> None:
    simulation = study(step_at(12, 0.02))
    simulation.run()
    assert not drifts(simulation)


def test_a_machine_that_moves_again_and_again_ends_the_search_and_not_the_study() -> None:
    simulation = study(lambda number: 0.1 * (number // 8))
    end = simulation.run()
    assert end == Finished("every planned launch is done")
    found = make_results(simulation.design, simulation.history, end.why)
    assert len(found.moves) == 3
    assert found.analysis is not None
    assert (
        len([step for step in simulation.steps if step.phase != "round"]) < simulation.design.search_launches
    )
    assert "the search was cut short for it." in " ".join(footnotes(found))


def test_a_resumed_study_knows_the_moves_from_its_ledger() -> None:
    whole, parts = study(step_at(12, -0.1)), study(step_at(12, -0.1))
    whole.run()
    while parts.run(most=3) is None:
        parts._folded = None
    assert parts.sequence == whole.sequence
    assert isinstance(parts.history, History)


def stretches(seed: int) -> Callable[[int], float]:
    """Faster and slower stretches of some launches each, as the host of a shared machine has them."""
    rng = random.Random(seed)
    level: list[float] = []
    while len(level) < 400:
        level += [rng.choice([0.0, -0.1])] * rng.randint(2, 12)
    return lambda number: level[number]


def restless(seed: int, truth: Callable[[Arm], float]) -> Simulation:
    """A whole study under the noise of a shared GPU host: launches 4 % apart, stretches 10 % slower."""
    simulation = Simulation(
        make(WIDE, profile="short", seed=seed, budget={"launches": 60}),
        truth,
        random.Random(seed),
        spread=0.04,
        weather=stretches(seed),
    )
    simulation.run()
    return simulation


def test_what_is_claimed_on_a_restless_machine_is_true() -> None:
    tied, errors = [], []
    for seed in range(60):
        simulation = restless(seed, by_steps)
        found = make_results(simulation.design, simulation.history, "done")
        assert found.analysis is not None
        in_rounds = {found.analysis.baseline, *(item.arm for item in found.analysis.comparisons)}
        truths = {arm.key: by_steps(arm) for arm in simulation.design.arms if arm.key in in_rounds}
        best = max(truths.values())
        tied.append(any(truths[key] == best for key in found.analysis.ties))
        base = truths[found.analysis.baseline]
        errors += [item.ratio / math.exp(truths[item.arm] - base) - 1 for item in found.analysis.comparisons]
    assert sum(tied) / len(tied) >= 0.95
    assert abs(sum(errors) / len(errors)) < 0.01


def test_equal_settings_on_a_restless_machine_rarely_give_a_winner() -> None:
    named = 0
    for seed in range(60):
        simulation = restless(seed, flat)
        named += make_results(simulation.design, simulation.history, "done").winner is not None
    assert named <= 3
