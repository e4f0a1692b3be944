"""A space that is edited between two runs: what was measured stays, what was taken out is not launched."""

from __future__ import annotations

import random
from typing import Any

import pytest

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.ranking import best_so_far
from eaglecfg.tune.results import make_results
from eaglecfg.tune.tables import footnotes, table
from tests.tune.simulate import Simulation, make

PAGES = {"server.page": [1, 2, 3, 4], "nccl.nthreads": ["unset", "256"]}
WITH = {"nccl.proto": ["unset", "LL", "Simple"], **PAGES}
WITHOUT = {"nccl.proto": ["unset", "Simple"], **PAGES}
SHAPES = {"speculative": ["off", {"num_steps": {"low": 1, "high": 8}, "eagle_topk": [1, 2, 4]}]}
EDITS = [(WITH, WITHOUT), ({**WITH, **SHAPES}, {**WITHOUT, **SHAPES})]
"""A space that is launched whole, and one that is sampled."""


def by_proto(arm: Arm) -> float:
    proto = arm.deployment.nccl.get("proto")
    return 5.0 + {"LL": 0.1, "Simple": 0.05}.get(str(proto), 0.0)


def study(space: dict[str, Any], launches: int, **options: Any) -> Simulation:
    made = Simulation(make(space, profile="short"), by_proto, random.Random(1), spread=0.003, **options)
    made.run(launches)
    return made


def takes_ll(simulation: Simulation, since: int = 0) -> list[str]:
    """Labels of the launches of what is about to be taken out."""
    return [step.arm.label for step in simulation.steps[since:] if "proto LL" in step.arm.label]


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_a_choice_that_was_taken_out_is_neither_launched_nor_recommended(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    made = study(before, 26)
    assert takes_ll(made)
    first = best_so_far(made.design, made.history)
    assert first is not None
    assert "proto LL" in first[0]
    made.design = make(after, profile="short")
    seen = best_so_far(made.design, made.history)
    assert seen is not None
    assert "proto LL" not in seen[0]
    made.run()
    assert takes_ll(made, 26) == []
    found = make_results(made.design, made.history, "done")
    assert found.winner is not None
    assert "proto Simple" in found.winner.label
    assert not any("proto LL" in row.label for row in found.rows if row.final or row.tied)


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_its_launches_stay_in_the_record_and_count_again_once_it_is_back(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    made = study(before, 26)
    launched = set(takes_ll(made))
    made.design = make(after, profile="short")
    made.run(2)
    out = {row.label: row for row in make_results(made.design, made.history, "").rows}
    for label in launched:
        assert out[label].launches >= 1
        assert out[label].notes[-1].startswith("the space does not have it any more")
    made.design = make(before, profile="short")
    made.run()
    searched = [step.arm.label for step in made.steps[28:] if step.phase == "search"]
    assert launched.isdisjoint(searched)
    found = make_results(made.design, made.history, "done")
    assert found.winner is not None
    assert "proto LL" in found.winner.label
    assert not any("any more" in note for row in found.rows for note in row.notes)


def test_what_the_machine_spoilt_is_not_launched_again_once_it_was_taken_out() -> None:
    made = study(WITH, 0, fault=lambda arm, number: "machine" if "proto LL" in arm.label else "")
    while not takes_ll(made):
        made.run(1)
    made.design = make(WITHOUT, profile="short")
    end = made.run()
    assert end is not None
    assert not end.broken
    assert len(takes_ll(made)) == 1


def test_what_was_taken_out_is_marked_so_and_not_as_of_the_search_although_it_was_in_rounds() -> None:
    steps: dict[str, Any] = {"speculative": ["off", {"num_steps": [1, 2, 3]}]}
    made = Simulation(make(steps), lambda arm: 5.0, random.Random(1), spread=0.003)
    made.run()
    made.design = make({"speculative": ["off", {"num_steps": [1, 3]}]})
    found = make_results(made.design, made.history, "done")
    (cell,) = [cells[0] for cells in table(found) if cells[0].startswith("2 steps")]
    assert cell == "2 steps\n(taken out of the space)"
    (out,) = [one for one in found.rows if one.label == "2 steps"]
    assert out.against_as_is is not None
    assert out.against_as_is.ratio == pytest.approx(1.0, abs=0.01)
    assert not any("(search only) are of the search" in text for text in footnotes(found))
