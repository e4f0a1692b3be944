"""What a budget of launches pays for: whole rounds, and nothing that the machine's own speed costs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from eaglecfg.schema.study import Budget
from eaglecfg.tune.deadline import Deadline
from eaglecfg.tune.results import make_results
from eaglecfg.tune.schedule import Finished, Wanted, launches_left, next_step
from eaglecfg.tune.tables import as_json, footnotes
from tests.tune.simulate import Simulation, make
from tests.tune.test_schedule import HUGE, STEPS, WIDE, flat

MANY = {"server.chunked_prefill_size": [512 * number for number in range(1, 17)]}


def budgeted(space: dict[str, Any], launches: int | None, **options: Any) -> Simulation:
    weather: Callable[[int], float] = options.pop("weather", lambda number: 0.0)
    budget = {} if launches is None else {"launches": launches}
    design = make(space, budget=budget, **options)
    return Simulation(design, flat, random.Random(1), spread=0.002, weather=weather)


def moved(number: int) -> float:
    return math.log1p(-0.13) if number > 10 else 0.0


@pytest.mark.parametrize("launches", [7, 20, 29, 40])
@pytest.mark.parametrize("space", [STEPS, WIDE, MANY, HUGE], ids=["few", "wide", "many", "huge"])
@pytest.mark.parametrize("weather", [lambda number: 0.0, moved], ids=["steady", "moving"])
def test_no_round_is_begun_that_the_budget_does_not_finish(
    launches: int, space: dict[str, Any], weather: Callable[[int], float]
) -> None:
    study = budgeted(space, launches, weather=weather)
    end = study.run()
    assert isinstance(end, Finished)
    history = study.history
    assert len(history.paid()) <= launches
    found = make_results(study.design, history, end.why)
    assert set(found.open_rounds) <= ({0} if study.design.mode == "rounds" else set())


@pytest.mark.parametrize("weather", [lambda number: 0.0, moved], ids=["steady", "moving"])
def test_what_a_move_of_the_machine_costs_is_not_paid_from_the_budget_and_said(
    weather: Callable[[int], float],
) -> None:
    study = budgeted(MANY, 28, profile="demo", baselines=["as_it_stands"], weather=weather)
    end = study.run()
    assert isinstance(end, Finished)
    history = study.history
    found = make_results(study.design, history, end.why)
    assert found.rounds == 3
    assert len(history.paid()) == 28
    cost = found.set_aside + found.looked_again
    assert len(history.launches) == 28 + cost
    assert as_json("x", "c", found)["set_aside"] == found.set_aside
    if weather is moved:
        assert found.set_aside == 7
        assert "(7 launches). No budget of launches pays" in " ".join(footnotes(found))
    else:
        assert cost == 0


@pytest.mark.parametrize("launches", [None, 29])
@pytest.mark.parametrize("space", [STEPS, WIDE, MANY, HUGE], ids=["few", "wide", "many", "huge"])
def test_the_number_of_launches_left_is_right_at_every_step(
    space: dict[str, Any], launches: int | None
) -> None:
    study = budgeted(space, launches)
    counts = []
    while isinstance(step := study.step(), Wanted):
        counts.append(len(study.history.launches) + launches_left(study.design, study.history))
        study.launch(step)
    assert launches_left(study.design, study.history) == 0
    # The rounds may hold fewer settings than the profile allows; the total is never behind.
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == len(study.history.launches)


@pytest.mark.parametrize("launches", range(4, 12))
@pytest.mark.parametrize("baselines", [["as_it_stands"], ["as_it_stands", "off"]])
def test_a_plan_of_few_launches_is_the_number_that_is_launched(launches: int, baselines: list[str]) -> None:
    study = budgeted(MANY, launches, baselines=baselines)
    planned = launches_left(study.design, study.history)
    study.run()
    assert len(study.history.launches) == planned <= launches


def test_the_number_of_launches_left_is_behind_by_what_a_move_costs_and_by_nothing_else() -> None:
    study = budgeted(MANY, None, baselines=["as_it_stands"], weather=moved)
    end = study.run()
    assert isinstance(end, Finished)
    again = budgeted(MANY, None, baselines=["as_it_stands"], weather=moved)
    again.events = study.events[:]
    found = make_results(study.design, study.history, end.why)
    planned = launches_left(study.design, budgeted(MANY, None).history)
    assert len(study.history.launches) == planned + found.set_aside + found.looked_again


def test_the_number_of_launches_left_holds_after_a_choice_was_added() -> None:
    study = budgeted(STEPS, None)
    study.run()
    study.design = make({"speculative": ["off", {"num_steps": [1, 2, 3, 4]}]})
    left = launches_left(study.design, study.history)
    before = len(study.history.launches)
    assert left > 0
    study.run()
    assert len(study.history.launches) == before + left


def test_a_round_that_was_cut_off_is_said_to_be_left_out() -> None:
    study = budgeted(STEPS, None)
    study.run(4 * 2 + 3)
    found = make_results(study.design, study.history, "the time budget is spent")
    assert found.open_rounds == {2: 3}
    words = "Round 3 is not complete: what was launched in it (3 launches) is not compared"
    assert f"{words} (the time budget is spent)." in footnotes(found)
    assert as_json("x", "c", found)["open_rounds"] == {"3": 3}
    assert f"{words} so far." in footnotes(make_results(study.design, study.history, ""))


@pytest.mark.parametrize(("launches", "begins"), [(3.5, False), (4.5, True)])
def test_a_round_is_not_begun_that_there_is_no_time_for(launches: float, begins: bool) -> None:
    study = budgeted(STEPS, None)
    study.run(4)
    step = next_step(study.design, study.history)
    assert isinstance(step, Wanted)
    assert step.round == 1
    hours = (study.history.busy_s + 2.0 * launches) / 3600  # a launch takes 2 s
    deadline = Deadline(Budget(hours=hours), 0.0, 2.0, clock=lambda: 0.0)
    stop = deadline.stop(study.design, study.history, 0.0, step)
    assert (stop == "") is begins
    study.launch(step)
    step = next_step(study.design, study.history)
    assert isinstance(step, Wanted)
    assert deadline.stop(study.design, study.history, 0.0, step) == ""
