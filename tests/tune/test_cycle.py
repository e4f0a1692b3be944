"""What a cycle is made of, seen from studies whose truth is known."""

from __future__ import annotations

import random
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
    assert "one pass of the target 4.00 ms, each draft step 0.50 ± 0.00 ms, the rest 0.30 ± 0.00 ms" in line
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


def noisy(seed: int, sigma: float, weather: float = 0.0, launches: int | None = None) -> Simulation:
    """Cycles that scatter by ``sigma`` ms from launch to launch, and by ``weather`` from round to round."""
    rng = random.Random(seed)
    rounds: dict[int, float] = {}
    simulation: Simulation

    def scattered(arm: Arm) -> float:
        number = simulation.steps[-1].round
        return (
            cycle_ms(arm)
            + rounds.setdefault(number, rng.gauss(0, weather) if weather else 0.0)
            + (rng.gauss(0, sigma) if sigma else 0.0)
        )

    design = make({"speculative": ["off", {"num_steps": [1, 2, 4]}]})
    simulation = Simulation(design, lambda arm: 1.0, rng, cycle=scattered)
    simulation.run(launches or 10_000)
    return simulation


def test_a_draft_step_is_within_its_interval_19_times_in_20() -> None:
    found = [find_cycles((one := noisy(seed, 0.1)).design, one.history)[0] for seed in range(300)]
    inside = [abs(each.step_ms - STEP) <= (each.step_reach or 0.0) for each in found]
    assert 0.92 <= sum(inside) / len(inside) <= 0.98
    rest = [abs((each.rest_ms or 0.0) - REST) <= (each.rest_reach or 0.0) for each in found]
    assert 0.92 <= sum(rest) / len(rest) <= 0.98


def test_a_machine_that_is_slower_in_one_round_moves_no_part_but_the_pass_of_the_target() -> None:
    simulation = noisy(1, 0.0, weather=2.0)
    (found,) = find_cycles(simulation.design, simulation.history)
    assert found.paired
    assert found.step_ms == pytest.approx(STEP)
    assert found.rest_ms == pytest.approx(REST)
    assert found.step_reach == pytest.approx(0.0, abs=1e-6)


def test_a_round_that_is_not_complete_takes_no_part_in_a_cycle() -> None:
    whole, more = noisy(3, 0.05, 1.0, launches=10), noisy(3, 0.05, 1.0, launches=13)
    assert find_cycles(whole.design, whole.history) == find_cycles(more.design, more.history)


def test_launches_that_scatter_more_than_a_step_takes_are_not_taken_apart() -> None:
    simulation = noisy(0, 2.0)
    (line,) = cycle_lines(find_cycles(simulation.design, simulation.history))
    assert "not taken apart; launches scatter so much that a draft step would come to" in line
    assert "±" in line


def test_one_launch_of_two_step_counts_tells_nothing_of_how_sure_a_part_is() -> None:
    simulation = Simulation(
        make({"speculative": [{"num_steps": [1, 3]}]}, baselines=["as_it_stands"]),
        lambda arm: 1.0,
        random.Random(0),
        cycle=cycle_ms,
    )
    simulation.run(2)
    (found,) = find_cycles(simulation.design, simulation.history)
    assert found.step_reach is None
    assert cycle_lines([found]) == []
