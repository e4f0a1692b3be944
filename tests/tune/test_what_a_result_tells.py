"""What a result has to tell besides its table: where numbers are of, and what became of settings."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from typing import Any

import pytest

from eaglecfg.tune.limits import above
from eaglecfg.tune.results import Results, make_results
from eaglecfg.tune.schedule import Wanted
from eaglecfg.tune.tables import as_json, footnotes, header, markdown, remarks, table, text_table
from tests.tune.simulate import Simulation, make
from tests.tune.test_schedule import STEPS, WIDE, by_steps, flat

MANY = {"server.chunked_prefill_size": [512 * number for number in range(1, 33)]}


def told(results: Results) -> str:
    """All sentences of a result."""
    return " ".join([*results.verdict, *remarks(results), *footnotes(results)])


def everywhere(results: Results, text: str) -> bool:
    """Whether a sentence stands in the text, in the Markdown and in the JSON."""
    plain = json.dumps(as_json("x", "c", results), ensure_ascii=False)
    return all(text in place for place in (told(results), markdown("x", results), plain))


# -- rows of the search --------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [-0.13, 0.15])
def test_equal_settings_are_equal_in_the_search_whenever_the_machine_moved(change: float) -> None:
    study = Simulation(
        make(MANY, profile="short", baselines=["as_it_stands"]),
        flat,
        random.Random(1),
        spread=0.002,
        weather=lambda number: math.log1p(change) if number > 11 else 0.0,
    )
    study.run()
    found = make_results(study.design, study.history, "done")
    searched = [row for row in found.rows if row.searched and not row.final]
    assert len(found.moves) == 1
    assert len(searched) > 10
    assert all(row.against_as_is is not None for row in searched)
    assert all(abs(row.against_as_is.ratio - 1) < 0.02 for row in searched if row.against_as_is)
    assert "(search only) are of the search" in told(found)


def test_what_the_search_measured_with_other_prompts_is_held_against_the_baseline_there() -> None:
    study = Simulation(make(WIDE, profile="short"), by_steps, random.Random(2), spread=0.001)
    # The prompts of the rounds are answered a fifth faster than those of the search.
    study.more = lambda step, score: {"scores": {"1": score + (0.2 if step.phase == "round" else 0.0)}}
    study.run()
    found = make_results(study.design, study.history, "done")
    base = by_steps(study.design.space.arm({}))
    arms = {arm.key: arm for arm in study.design.arms}
    searched = [row for row in found.rows if row.searched and not row.final]
    assert searched
    for row in searched:
        assert row.against_as_is is not None
        assert row.against_as_is.ratio == pytest.approx(math.exp(by_steps(arms[row.arm]) - base), rel=0.01)
    assert [row.against_as_is.ratio for row in searched if row.against_as_is] == sorted(
        (row.against_as_is.ratio for row in searched if row.against_as_is), reverse=True
    )
    assert any(f"came to {math.exp(base):.1f}"[:9] in text for text in footnotes(found))


def test_a_launch_that_was_cut_short_is_held_against_the_same_blocks_of_the_baseline() -> None:
    def uneven(step: Wanted, score: float) -> Mapping[str, Any]:
        """The first blocks of every launch are slower; a bad setting is left after two of four."""
        bad = step.arm.label.startswith("2 steps") and step.phase != "round"
        blocks = [score - 0.2, score - 0.2, score + 0.2, score + 0.2][: 2 if bad else 4]
        score = sum(blocks) / len(blocks)
        return {"blocks": {"1": blocks}, "scores": {"1": score}, "curtailed": [1] if bad else []}

    study = Simulation(make(WIDE, profile="short"), flat, random.Random(2), spread=0.001, more=uneven)
    study.run()
    found = make_results(study.design, study.history, "done")
    cut = [row for row in found.rows if row.label.startswith("2 steps") and not row.final]
    assert cut
    for row in cut:
        assert row.against_as_is is not None
        assert row.against_as_is.ratio == pytest.approx(1.0, abs=0.01)


# -- settings that were not launched -------------------------------------------------------------------


def test_settings_that_a_budget_leaves_out_are_named_with_the_reason() -> None:
    study = Simulation(make(WIDE, profile="short", budget={"launches": 20}), by_steps, random.Random(0))
    end = study.run()
    found = make_results(study.design, study.history, end.why if end else "")
    launched = {item.arm for item in study.history.launches}
    left = [arm for arm in study.design.arms if arm.key not in launched]
    assert left
    assert found.unlaunched is not None
    assert found.unlaunched.count == len(left)
    assert found.unlaunched.labels == tuple(arm.label for arm in left)
    assert everywhere(found, f"{len(left)} of {len(study.design.arms)} settings were not launched")
    assert "the budget of 20 launches keeps" in found.unlaunched.why


def test_a_study_that_launched_everything_says_nothing_of_the_kind() -> None:
    study = Simulation(make(STEPS), by_steps, random.Random(0))
    study.run()
    found = make_results(study.design, study.history, "done")
    assert found.unlaunched is None
    assert "not launched" not in told(found)


def test_of_a_space_too_large_to_list_the_launched_are_counted() -> None:
    space = {**MANY, "server.schedule_conservativeness": [0.1 * number for number in range(1, 33)]}
    study = Simulation(make(space, budget={"launches": 20}), flat, random.Random(0))
    end = study.run()
    found = make_results(study.design, study.history, end.why if end else "")
    assert " of 1024 combinations were launched, chosen by a sampler" in told(found)


# -- what servers make of settings ---------------------------------------------------------------------


def smaller(step: Wanted, score: float) -> Mapping[str, Any]:
    rewritten: dict[str, Any] = {"page_size": [16, 1]}
    if step.arm.label == "2 steps":
        rewritten["max_running_requests"] = [16, 4]
    return {"rewritten": rewritten}


def test_what_the_server_makes_of_one_setting_is_told_with_it_and_what_all_share_once() -> None:
    study = Simulation(make(STEPS), by_steps, random.Random(3), spread=0.005, more=smaller)
    study.run()
    found = make_results(study.design, study.history, "done")
    assert found.winner is not None
    assert found.winner.label == "2 steps"
    words = "The server did not run 2 steps as it was asked to (max_running_requests 16 -> 4)"
    assert everywhere(found, words)
    assert "2 steps: the server rewrites it: max_running_requests 16 -> 4" in remarks(found)
    assert told(found).count("page_size") == 1
    assert "The server rewrites with every setting: page_size 16 -> 1." in footnotes(found)
    assert as_json("x", "c", found)["rewritten"] == ["page_size 16 -> 1"]


def test_a_rewrite_of_some_launches_says_of_how_many() -> None:
    seen: list[int] = []

    def once(step: Wanted, score: float) -> Mapping[str, Any]:
        seen.append(1)
        return {"rewritten": {"max_running_requests": [16, 4]} if len(seen) == 1 else {}}

    study = Simulation(make(STEPS), flat, random.Random(3), more=once)
    study.run()
    found = make_results(study.design, study.history, "done")
    first = study.steps[0].arm.label
    times = next(row.launches for row in found.rows if row.label == first)
    words = f"{first}: the server rewrites it: max_running_requests 16 -> 4 (in 1 of {times} launches)"
    assert words in remarks(found)


# -- limits --------------------------------------------------------------------------------------------


def over(*labels: str, value: float = 3.004) -> Any:
    """Launches of these settings, of all where none is named, are over a limit of 3 ms."""

    def more(step: Wanted, score: float) -> Mapping[str, Any]:
        if labels and step.arm.label not in labels:
            return {}
        return {
            "limits": ["itl_p99_ms 3 > 3 at concurrency 1"],
            "latency": {"1": {"itl_p99": value}},
        }

    return more


def test_a_limit_is_named_as_the_reason_why_the_fastest_does_not_win() -> None:
    study = Simulation(make(STEPS), by_steps, random.Random(3), spread=0.005, more=over("2 steps"))
    study.run()
    found = make_results(study.design, study.history, "done")
    assert "nearest" not in found.verdict[0]
    if found.winner is None:
        assert "No setting that keeps the limits" in found.verdict[0]
    assert "breaks" in " ".join(found.verdict)
    assert "itl_p99_ms 3.004 > 3 at concurrency 1, in " in " ".join(found.verdict)
    assert sum(text.startswith("2 steps:") for text in remarks(found)) == 1


def test_a_limit_that_everything_breaks_is_said_to_leave_nothing_to_win() -> None:
    study = Simulation(make(STEPS), by_steps, random.Random(3), spread=0.005, more=over())
    study.run()
    found = make_results(study.design, study.history, "done")
    assert found.winner is None
    assert everywhere(
        found, "Every setting that was measured breaks a limit of the objective, the deployment"
    )


def test_a_deployment_that_breaks_the_limit_today_is_told_so() -> None:
    study = Simulation(make(STEPS), by_steps, random.Random(3), spread=0.005, more=over("3 steps"))
    study.run()
    found = make_results(study.design, study.history, "done")
    assert found.winner is not None
    assert "The deployment as it stands breaks a limit of the objective itself" in " ".join(found.verdict)


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [(3.4, 3.0, "3.40"), (3.0004, 3.0, "3.0004"), (512.7, 500.0, "513"), (500.2, 500.0, "500.2")],
)  # fmt: skip
def test_a_value_over_a_limit_has_digits_enough_to_show_it(value: float, limit: float, text: str) -> None:
    assert above(value, limit) == text


# -- concurrencies that disagree -----------------------------------------------------------------------


def one_sided(step: Wanted, score: float) -> Mapping[str, Any]:
    shift = (-0.28, 0.44) if step.arm.label == "2 steps" else (0.0, 0.0)
    return {
        "scores": {"1": score + shift[0], "8": score + 1.5 + shift[1]},
        "counters": {"1": [2.0, 1.0, 8.0, 1.0], "8": [2.0, 1.0, 8.0, 1.0]},
    }


def test_a_winner_that_loses_at_one_concurrency_says_so_with_both_numbers() -> None:
    study = Simulation(make(STEPS), flat, random.Random(3), spread=0.002, more=one_sided)
    study.run()
    found = make_results(study.design, study.history, "done")
    assert found.winner is not None
    assert found.winner.label == "2 steps"
    assert ": -24." in found.verdict[0]
    assert " % at 1, +54." in found.verdict[0]
    assert everywhere(found, "2 steps is slower than the deployment as it stands at concurrency 1 (-24.")
    assert list(as_json("x", "c", found)["winner"]["slower_at"]) == [1]
    assert max(map(len, text_table(header(found), table(found)))) <= 110


def test_a_winner_that_gains_everywhere_has_no_such_sentence() -> None:
    study = Simulation(make(STEPS), by_steps, random.Random(3), spread=0.005)
    study.run()
    found = make_results(study.design, study.history, "done")
    assert "slower than the deployment" not in told(found)
    assert as_json("x", "c", found)["winner"]["slower_at"] == {}
