"""What is launched next: baselines, the space, anchors, leaders, rounds; and what failures change."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from eaglecfg.schema.study import Budget
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.deadline import Deadline
from eaglecfg.tune.history import History, Launch, fold
from eaglecfg.tune.ranking import best_so_far
from eaglecfg.tune.results import make_results
from eaglecfg.tune.schedule import Wanted, next_step
from eaglecfg.tune.study import startup_limits
from tests.tune.simulate import Simulation, make

STEPS = {"speculative": ["off", {"num_steps": [1, 2, 3]}]}
WIDE = {
    "speculative": ["off", {"num_steps": [1, 2, 3]}],
    "nccl.proto": ["unset", "LL", "Simple"],
    "server.page": [1, 2],
}
HUGE = {
    "speculative": ["off", {"num_steps": {"low": 1, "high": 8}, "eagle_topk": [1, 2, 4]}],
    "nccl.proto": ["unset", "LL", "LL128", "Simple"],
    "nccl.algo": ["unset", "Ring", "Tree"],
    "server.page": [1, 2, 4, 8],
}


def flat(arm: Arm) -> float:
    return 5.0


def by_steps(arm: Arm) -> float:
    return 5.0 + {1: 0.0, 2: 0.1, 3: 0.25, 4: 0.15}.get(arm.draft_tokens, -0.1)


def by_shape(arm: Arm) -> float:
    shape = arm.deployment.speculative
    if shape is None or isinstance(shape, str):
        return 4.9
    proto = {"LL": 0.06, "Simple": -0.1}.get(arm.deployment.nccl.get("proto", ""), 0.0)
    return 5.0 - 0.03 * abs((shape.num_steps or 0) - 5) + 0.02 * (shape.eagle_topk == 1) + proto


def simulation(space: dict[str, Any], **options: Any) -> Simulation:
    given = {name: options.pop(name) for name in ("spread", "drift", "fault") if name in options}
    truth = options.pop("truth", by_steps)
    return Simulation(make(space, **options), truth, random.Random(options.get("seed", 0)), **given)


def test_a_small_space_goes_through_rounds_that_turn_around() -> None:
    study = simulation(STEPS)
    end = study.run()
    assert end is not None
    assert end.why == "every planned launch is done"
    first = ["off", "3 steps", "1 step", "2 steps"]
    assert [label for label, _, _ in study.sequence] == first + first[::-1] + first
    assert {phase for _, phase, _ in study.sequence} == {"round"}


def test_a_middling_space_is_screened_and_the_best_go_into_the_rounds() -> None:
    study = simulation(WIDE, profile="short", spread=0.001)
    assert study.design.mode == "screen"
    study.run()
    search = [step for step in study.steps if step.phase != "round"]
    assert [step.arm.label for step in search[:2]] == ["off", "3 steps"]
    assert [number for number, step in enumerate(search) if step.phase == "anchor"] == [7, 15, 23]
    seen = [step.arm.key for step in search if step.phase == "search"]
    assert len(seen) == len(set(seen)) == len(study.design.arms)
    rounds = {step.arm.label for step in study.steps if step.phase == "round"}
    assert len(rounds) == 5
    assert sum("2 steps" in label for label in rounds) == 3
    assert sum(step.phase == "replicate" for step in search) == study.design.replicates


def test_a_huge_space_is_sampled_within_its_budget() -> None:
    study = simulation(HUGE, profile="short", budget={"launches": 40}, spread=0.005, truth=by_shape)
    assert study.design.mode == "search"
    study.run()
    assert len(study.steps) == 40
    searched = [step.arm.key for step in study.steps if step.phase == "search"]
    assert len(searched) == len(set(searched))
    found = make_results(study.design, study.history, "done")
    assert found.winner is not None
    assert study.truth(found.winner) > by_shape(study.design.as_is) + 0.05


def test_the_sequence_is_the_same_however_often_it_is_taken_up_again() -> None:
    whole = simulation(HUGE, profile="short", budget={"launches": 30})
    whole.run()
    pieces = simulation(HUGE, profile="short", budget={"launches": 30})
    while pieces.run(3) is None:
        pieces.design = make(HUGE, profile="short", budget={"launches": 30})
    assert pieces.sequence == whole.sequence


def test_launches_survive_a_choice_that_is_added_and_one_that_is_removed() -> None:
    study = simulation(STEPS)
    study.run(6)
    study.design = make({"speculative": ["off", {"num_steps": [2, 3, 4]}]})
    study.run()
    labels = [(label, number) for label, _, number in study.sequence]
    assert labels.count(("2 steps", 0)) == 1
    assert [label for label, _ in labels].count("4 steps") == 3
    assert [label for label, _ in labels].count("1 step") == 2
    assert len(make_results(study.design, study.history, "done").rows) == 5


def test_a_setting_that_fails_is_never_launched_again() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "oom" if arm.label == "2 steps" else "")
    end = study.run()
    assert end is not None
    assert not end.broken
    assert [label for label, _, _ in study.sequence].count("2 steps") == 1
    row = next(
        row for row in make_results(study.design, study.history, "done").rows if row.label == "2 steps"
    )
    assert (row.launches, row.failed, row.notes) == (0, 1, ("oom: oom of 2 steps",))


@pytest.mark.parametrize("failure", ["crash", "hang", "startup"])
def test_a_baseline_that_died_without_a_cause_is_launched_again(failure: str) -> None:
    study = simulation(STEPS, fault=lambda arm, number: failure if number in (1, 3) else "")
    study.run()
    assert [label for label, _, _ in study.sequence][:4] == ["off", "off", "3 steps", "3 steps"]
    found = make_results(study.design, study.history, "done")
    assert found.lost is None
    assert found.analysis is not None
    assert found.analysis.rounds == 3


@pytest.mark.parametrize(("failure", "times"), [("crash", 2), ("oom", 1)])
def test_nothing_wins_without_the_deployment_as_it_stands(failure: str, times: int) -> None:
    study = simulation(STEPS, spread=0.001, fault=lambda a, n: failure if a.label == "3 steps" else "")
    study.run()
    assert [label for label, _, _ in study.sequence].count("3 steps") == times
    found = make_results(study.design, study.history, "done")
    assert found.winner is None
    assert found.lost is not None
    assert found.verdict[0].startswith("The deployment as it stands could not be measured")
    assert not any("beats" in sentence for sentence in found.verdict)


def test_a_deployment_that_the_validator_refuses_is_said_to_be_compared_with_nothing() -> None:
    def refuses(arm: Arm) -> tuple[str, ...]:
        return () if arm.changed else ("EC000 x: y",)

    study = simulation(STEPS, spread=0.001, verdict=refuses)
    study.run()
    verdict = make_results(study.design, study.history, "done").verdict
    assert "beats speculation off" in verdict[0]
    assert verdict[1].startswith("The deployment as it stands was not launched")


def test_a_plan_with_retries_counts_what_is_launched_again() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "oom" if arm.label == "2 steps" else "")
    study.run()
    history = study.history
    assert len(history.retried().settled()) == len(history.settled()) - 1
    assert not history.retried().condemned()


def test_a_hang_is_confirmed_once() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "hang" if arm.label == "2 steps" else "")
    study.run()
    assert [label for label, _, _ in study.sequence].count("2 steps") == 2


def test_a_hang_that_does_not_come_again_counts_for_nothing() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "hang" if number == 3 else "")
    study.run()
    assert len(study.steps) == 13
    assert make_results(study.design, study.history, "done").analysis is not None


def test_a_start_that_took_too_long_twice_is_launched_again_once_it_is_forgiven() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "startup" if arm.label == "2 steps" else "")
    study.run()
    assert [label for label, _, _ in study.sequence].count("2 steps") == 2
    key = next(step.arm.key for step in study.steps if step.arm.label == "2 steps")
    assert set(study.history.condemned()) == {key}
    study.write("retry", arms=[key], why="--retry-failed", conditions="other")
    assert set(study.history.condemned()) == {key}
    study.write("retry", arms=[key], why="--retry-failed", conditions="c")
    assert not study.history.condemned()
    study.fault = lambda arm, number: ""
    study.run()
    assert [label for label, _, number in study.sequence[-3:]] == ["2 steps"] * 3
    found = make_results(study.design, study.history, "done")
    assert {row.label: (row.launches, row.failed) for row in found.rows}["2 steps"] == (3, 0)
    assert not found.failures
    assert found.analysis is not None
    assert found.analysis.rounds == 3


def test_what_is_forgiven_and_fails_again_is_confirmed_again_and_then_left() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "hang" if arm.label == "2 steps" else "")
    study.run()
    study.write("retry", arms=list(study.history.condemned()), why="x", conditions="c")
    study.run()
    assert [label for label, _, _ in study.sequence].count("2 steps") == 4


def test_a_budget_counts_settings_and_not_what_the_machine_spoilt() -> None:
    study = simulation(STEPS, budget={"launches": 12}, fault=lambda arm, n: "machine" if n == 2 else "")
    study.run()
    assert len(study.steps) == 13
    deadline = Deadline(Budget(launches=12), 0.0, 1.0)
    before = fold(study.events[:-2], "c")
    assert len(before.launches) == 12
    assert deadline.stop(study.design, before, 0.0) == ""
    assert deadline.stop(study.design, study.history, 0.0) == "the budget of 12 launches is spent"


def test_a_start_up_limit_is_learned_but_not_held_against_who_exceeded_it() -> None:
    seen = [
        Launch(n, "a", "a", "round", 0, scores={1: 1.0}, ready_s=ready)
        for n, ready in enumerate((40.0, 124.0))
    ]
    slow = Launch(2, "b", "b", "round", 0, failure="startup")

    def limit(given: float, arm: str, *launches: Launch) -> float:
        return startup_limits(given, arm, History(launches, (), {}, (), 0, 0)).startup_s

    assert limit(600, "a") == 600
    assert limit(600, "a", seen[0]) == 600
    assert limit(600, "a", *seen) == 186
    assert limit(150, "a", *seen) == 150
    assert limit(600, "a", replace(seen[0], ready_s=2), replace(seen[0], ready_s=3)) == 30
    assert limit(600, "b", *seen, slow) == 600
    assert limit(120, "b", *seen, slow) == 186
    assert limit(120, "b", slow) == 120


def test_nothing_is_best_so_far_while_launches_differ_as_much_as_settings() -> None:
    clear = simulation(STEPS, spread=0.001)
    clear.run(1)
    assert best_so_far(clear.design, clear.history) is None
    clear.run(7)
    found = best_so_far(clear.design, clear.history)
    assert found is not None
    assert found[0] == "2 steps"
    assert found[1] > 1.05
    noisy = simulation(STEPS, truth=flat, spread=0.3, seed=1)
    noisy.run(8)
    assert best_so_far(noisy.design, noisy.history) is None


def test_a_failure_of_the_machine_is_retried_and_never_told() -> None:
    study = simulation(HUGE, profile="short", fault=lambda arm, number: "machine" if number == 5 else "")
    study.run(6)
    assert study.steps[4].arm.key == study.steps[5].arm.key
    assert isinstance(next_step(study.design, study.history), Wanted)
    assert sum(not item.ok for item in study.history.settled()) == 0


def test_a_machine_that_keeps_failing_ends_the_study_until_the_next_session() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "machine" if number > 4 else "")
    end = study.run()
    assert end is not None
    assert end.broken
    assert "reasons of the machine" in end.why
    assert len(study.steps) == 7
    again = next_step(study.design, study.history, since=study.history.last_number)
    assert isinstance(again, Wanted)


def of_others(arm: Arm, number: int) -> str:
    return "flag" if arm.changed and arm.label != "off" else ""


def of_all_after_ten(arm: Arm, number: int) -> str:
    return "cuda" if number > 10 else ""


MANY = {"server.page": list(range(1, 30))}


@pytest.mark.parametrize(
    ("space", "profile", "fault", "most", "why"),
    [
        (WIDE, "short", of_others, 11, "(flag), and none has run: flag of "),
        (HUGE, "overnight", of_others, 12, "(flag), and none has run: flag of "),
        (MANY, "short", of_others, 11, "(flag), and none has run: flag of "),
        (HUGE, "overnight", of_all_after_ten, 18, "8 launches in a row failed the same way (cuda): cuda of "),
    ],
)
def test_a_study_in_which_everything_fails_one_way_stops_with_what_it_was(
    space: dict[str, Any], profile: str, fault: Any, most: int, why: str
) -> None:
    study = simulation(space, profile=profile, fault=fault)
    end = study.run()
    assert end is not None
    assert end.broken
    assert why in end.why
    assert len(study.steps) <= most
    seen = study.history
    assert next_step(study.design, seen, since=seen.last_number) != end  # the cause may be mended


def test_settings_that_fail_beside_others_that_run_stop_nothing() -> None:
    study = simulation(
        MANY, profile="short", fault=lambda arm, number: "oom" if arm.label > "page 15" else ""
    )
    end = study.run()
    assert end is not None
    assert not end.broken
    assert sum(event.kind == "ended" and event.data["failure"] == "oom" for event in study.events) > 8


def test_a_study_without_a_baseline_that_starts_gives_up() -> None:
    study = simulation(STEPS, fault=lambda arm, number: "import")
    end = study.run()
    assert end is not None
    assert end.broken
    assert "no baseline can be launched" in end.why
    assert len(study.steps) == 2


def test_what_the_validator_refuses_is_not_launched() -> None:
    def refuse(arm: Arm) -> tuple[str, ...]:
        return ("EC999 no-good: no",) if arm.label == "1 step" else ()

    study = simulation(STEPS, verdict=refuse)
    study.run()
    assert "1 step" not in {label for label, _, _ in study.sequence}
    assert study.design.rejected == {"1 step": ("EC999 no-good: no",)}


def test_an_arm_refused_while_sampling_costs_no_launch_and_is_not_drawn_again() -> None:
    def refuse(arm: Arm) -> tuple[str, ...]:
        return ("EC999 no-good: no",) if "topk 4" in arm.label else ()

    study = simulation(HUGE, profile="short", budget={"launches": 30}, verdict=refuse)
    study.run()
    rejected = [event.data["arm"]["key"] for event in study.events if event.kind == "rejected"]
    assert rejected
    assert len(rejected) == len(set(rejected))
    assert len(study.steps) == 30


def test_finalists_do_not_change_while_the_rounds_run() -> None:
    study = simulation(WIDE, profile="short", spread=0.02)
    study.run()
    rounds = [step for step in study.steps if step.phase == "round"]
    assert len(rounds) == study.design.rounds * study.design.final_arms
    assert len({step.arm.key for step in rounds}) == study.design.final_arms


@pytest.mark.parametrize("space", [STEPS, WIDE])
def test_equal_settings_do_not_make_a_winner(space: dict[str, Any]) -> None:
    profile = "demo" if space is STEPS else "short"
    named = 0
    for seed in range(60):
        study = simulation(space, profile=profile, seed=seed, truth=flat, drift=0.0005)
        study.run()
        named += make_results(study.design, study.history, "done").winner is not None
    assert named <= 5


def test_the_claimed_gain_is_the_true_gain() -> None:
    claims = []
    for seed in range(40):
        study = simulation(WIDE, profile="short", seed=seed, spread=0.01, budget={"launches": 60})
        study.run()
        found = make_results(study.design, study.history, "done")
        assert found.winner is not None
        row = next(row for row in found.rows if row.arm == found.winner.key)
        assert row.against_as_is is not None
        claims.append(
            row.against_as_is.ratio - math.exp(by_steps(found.winner) - by_steps(study.design.as_is))
        )
    assert abs(sum(claims) / len(claims)) < 0.01


def test_a_space_with_nothing_to_choose_still_measures_the_deployment() -> None:
    base = {"target": {"checkpoint": "t"}}
    study = Simulation(make({"speculative": ["off"]}, base=base), flat, random.Random(0))
    end = study.run()
    assert end is not None
    assert [label for label, _, _ in study.sequence] == ["as it stands"] * 3
    found = make_results(study.design, study.history, end.why)
    assert found.analysis is None
    assert [row.role for row in found.rows] == ["as it stands, off"]


def test_speculation_off_is_measured_and_named_even_when_it_is_not_searched() -> None:
    study = simulation({"nccl.proto": ["unset", "LL"], "parallel.tp_size": [2]})
    study.run()
    assert {label for label, _, _ in study.sequence} == {
        "off",
        "as it stands",
        "tp_size 2",
        "proto LL, tp_size 2",
    }


def test_a_deployment_that_its_draft_slows_down_is_told_so() -> None:
    def slowed(arm: Arm) -> float:
        return 5.0 if arm.draft_tokens == 1 else 4.5

    study = simulation(STEPS, truth=slowed)
    study.run()
    found = make_results(study.design, study.history, "done")
    assert found.winner is not None
    assert found.winner.label == "off"
    assert any("slower than with speculation off: -3" in sentence for sentence in found.verdict)


def test_an_unfinished_study_says_how_to_go_on() -> None:
    study = simulation(STEPS)
    study.run(3)
    found = make_results(study.design, study.history, "")
    assert found.verdict[-1] == "The study is not finished: the same command goes on where it stopped."
    assert "Too few complete rounds" in found.verdict[0]


def test_leaders_in_the_sampling_phase_are_launched_again() -> None:
    study = simulation(HUGE, profile="overnight", budget={"launches": 70}, truth=by_shape, spread=0.01)
    study.run()
    again = [step for step in study.steps if step.phase == "replicate"]
    assert 5 <= len(again) <= 12
    assert sum(step.phase == "anchor" for step in study.steps) >= 3
    assert len(study.steps) <= 70


def test_time_kept_for_the_rounds_ends_the_search() -> None:
    study = simulation(HUGE, profile="short", truth=by_shape)
    study.run(9)
    end = study.run(search_over=True)
    assert end is not None
    assert [step.phase for step in study.steps[9:]] == ["round"] * (study.design.rounds * 5)


@pytest.mark.parametrize(("space", "launches"), [(HUGE, 90), (HUGE, 30), (WIDE, 70), (WIDE, 30)])
def test_most_of_a_night_is_searched_and_its_rounds_are_whole(space: dict[str, Any], launches: int) -> None:
    study, seconds = simulation(space, profile="overnight", truth=by_shape, budget={"hours": 1}), [0.0]
    budget = Budget(hours=launches * 2 / 3600)  # a launch of the simulation takes 2 s
    deadline = Deadline(budget, 0.0, 2.0, clock=lambda: seconds[0])
    while not deadline.stop(study.design, study.history, 0.0):
        over = deadline.search_over(study.design, study.history, 0.0)
        step = next_step(study.design, study.history, search_over=over)
        if not isinstance(step, Wanted):
            break
        study.launch(step)
        seconds[0] += 2.0
    rounds = [step for step in study.steps if step.phase == "round"]
    kept = min(study.design.profile.rounds, launches // 2 // study.design.final_arms)
    assert len(study.steps) == launches
    assert make_results(study.design, study.history, "").rounds >= kept >= 2
    searched = launches - len(rounds)
    if launches < study.design.search_launches + kept * study.design.final_arms:
        assert kept * study.design.final_arms <= len(rounds) < kept * study.design.final_arms + 2
    else:
        assert searched == study.design.search_launches


def test_a_space_that_outgrows_its_rounds_is_searched_first() -> None:
    study = simulation(STEPS)
    study.run(5)
    study.design = make(WIDE, profile="short")
    study.run(20)
    assert {step.phase for step in study.steps[5:]} == {"search", "anchor"}
