"""What a cycle is made of, seen from studies whose truth is known."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.cycle import cycle_lines, find_cycles
from tests.tune.simulate import Simulation, make

TARGET, STEP, REST = 4.0, 0.5, 0.3


def cycle_ms(arm: Arm) -> float:
    shape = arm.deployment.speculative
    slower = 1.0 if arm.deployment.nccl.get("proto") == "Simple" else 0.0
    if shape is None or isinstance(shape, str):
        return TARGET + slower
    return TARGET + slower + REST + STEP * (shape.num_steps or 0)


def measured(space: dict[str, Any], cycle: Any = cycle_ms) -> Simulation:
    simulation = Simulation(make(space), lambda arm: 1.0, random.Random(0), cycle=cycle)
    simulation.run()
    return simulation


def test_the_parts_of_a_cycle_are_found() -> None:
    simulation = measured({"speculative": ["off", {"num_steps": [1, 2, 4]}]})
    (found,) = find_cycles(simulation.design, simulation.history)
    assert (found.setting, found.concurrency) == ("", 1)
    assert found.target_ms == pytest.approx(TARGET)
    assert found.step_ms == pytest.approx(STEP)
    assert found.rest_ms == pytest.approx(REST)
    assert found.misfit_ms == pytest.approx(0.0, abs=1e-9)
    assert found.shares(4) == pytest.approx((4.0 / 6.3, 2.0 / 6.3, 0.3 / 6.3))
    (line,) = cycle_lines([found])
    assert (
        "one pass of the target 4.00 ± 0.00 ms, each draft step 0.50 ± 0.00 ms, the rest 0.30 ± 0.00 ms"
        in line
    )
    assert "of a cycle of 4 steps that is 63%, 32%, 5%" in line


def test_settings_of_other_kinds_have_cycles_of_their_own() -> None:
    simulation = measured({"speculative": ["off", {"num_steps": [1, 3]}], "nccl.proto": ["unset", "Simple"]})
    found = {each.setting: each for each in find_cycles(simulation.design, simulation.history)}
    assert set(found) == {"nccl.proto unset", "nccl.proto Simple"}
    assert found["nccl.proto Simple"].target_ms == pytest.approx(TARGET + 1.0)
    assert found["nccl.proto Simple"].rest_ms == pytest.approx(REST)


def test_a_line_that_is_none_says_how_far_it_is_off() -> None:
    simulation = measured(
        {"speculative": ["off", {"num_steps": [1, 2, 3]}]},
        lambda arm: cycle_ms(arm) + (0.6 if arm.draft_tokens == 3 else 0.0),
    )
    (found,) = find_cycles(simulation.design, simulation.history)
    assert found.misfit_ms == pytest.approx(0.4)


def test_one_step_count_shows_nothing() -> None:
    simulation = measured({"nccl.proto": ["unset", "Simple"]})
    assert find_cycles(simulation.design, simulation.history) == ()


@pytest.mark.parametrize(
    "times",
    [
        {1: 6.0, 2: 5.0, 3: 5.0, 4: 4.9},  # a step that costs less than nothing
        {1: 3.0, 2: 4.0, 3: 5.0, 4: 6.0},  # less left than the target takes
    ],
)
def test_parts_that_would_take_less_than_no_time_are_left_out(times: dict[int, float]) -> None:
    def scattered(arm: Arm) -> float:
        shape = arm.deployment.speculative
        return TARGET if shape is None or isinstance(shape, str) else times[shape.num_steps or 0]

    simulation = measured({"speculative": ["off", {"num_steps": [1, 2, 4]}]}, scattered)
    (line,) = cycle_lines(find_cycles(simulation.design, simulation.history))
    assert "steps scatter so much" in line
    assert "-" not in line


def noisy(seed: int, launch: float, rounds: float = 0.0, launches: int | None = None) -> Simulation:
    """Cycles that launches stretch by a deviation of ``launch``, and rounds by one of ``rounds`` (shares)."""
    rng = random.Random(seed)
    slower: dict[int, float] = {}
    simulation: Simulation

    def scattered(arm: Arm) -> float:
        of_round = slower.setdefault(simulation.steps[-1].round, rng.gauss(0, 1))
        return cycle_ms(arm) * (1 + rounds * of_round) * (1 + launch * rng.gauss(0, 1))

    design = make({"speculative": ["off", {"num_steps": [1, 2, 4]}]})
    simulation = Simulation(design, lambda arm: 1.0, rng, cycle=scattered)
    simulation.run(launches or 10_000)
    return simulation


@pytest.mark.parametrize(("launch", "rounds"), [(0.03, 0.0), (0.02, 0.1), (0.01, 0.15)])
def test_parts_are_within_their_intervals_19_times_in_20(launch: float, rounds: float) -> None:
    found = [find_cycles((one := noisy(seed, launch, rounds)).design, one.history)[0] for seed in range(200)]
    for inside in (
        [abs(each.step_ms - STEP) <= (each.step_reach or 0.0) for each in found],
        [abs((each.rest_ms or 0.0) - REST) <= (each.rest_reach or 0.0) for each in found],
        [abs((each.target_ms or 0.0) - TARGET) <= (each.target_reach or 0.0) for each in found],
    ):
        assert sum(inside) / len(inside) >= 0.92


def test_a_round_that_is_not_complete_takes_no_part_in_a_cycle() -> None:
    whole, more = noisy(3, 0.02, 0.1, launches=10), noisy(3, 0.02, 0.1, launches=13)
    assert find_cycles(whole.design, whole.history) == find_cycles(more.design, more.history)


def test_launches_that_scatter_more_than_a_step_takes_are_not_taken_apart() -> None:
    simulation = noisy(0, 0.4)
    (line,) = cycle_lines(find_cycles(simulation.design, simulation.history))
    assert "not taken apart; launches scatter so much that a draft step would come to" in line
    assert "±" in line


def test_a_rest_that_may_be_nothing_is_no_share() -> None:
    shares = []
    for seed in range(12):
        simulation = noisy(seed, 0.02)
        (found,) = find_cycles(simulation.design, simulation.history)
        (line,) = cycle_lines([found])
        if found.sound:
            shares.append("%" in line)
            assert shares[-1] == ((found.rest_ms or 0.0) > (found.rest_reach or 0.0))
    assert set(shares) == {True, False}


def test_one_round_tells_nothing_of_how_sure_a_part_is() -> None:
    simulation = noisy(0, 0.02, launches=5)
    (found,) = find_cycles(simulation.design, simulation.history)
    assert (found.paired, found.target_reach, found.step_reach, found.rest_reach) == (True, None, None, None)
    assert cycle_lines([found]) == []


def test_launches_of_different_times_have_no_interval_and_say_so() -> None:
    simulation = noisy(0, 0.0, launches=10)
    searched = [replace(item, phase="search") for item in simulation.history.launches]
    history = replace(simulation.history, launches=tuple(searched))
    (line,) = cycle_lines(find_cycles(simulation.design, history))
    assert "each draft step 0.50 ms" in line
    assert "of launches of different times, so without an interval" in line
