"""Of settings that no launch can tell apart the simplest one is recommended."""

from __future__ import annotations

import random
from typing import Any

import pytest

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.results import Results, make_results
from tests.tune.simulate import Simulation, make


def by_proto(arm: Arm) -> float:
    """NCCL's protocol matters, the rest of a setting does not."""
    return 5.0 + (0.1 if arm.deployment.nccl.get("proto") == "LL" else 0.0)


def by_depth(arm: Arm) -> float:
    """One step and two are equally good, and better than any other number."""
    return 5.0 + (0.1 if arm.draft_tokens in (2, 3) else 0.0)


def by_page(arm: Arm) -> float:
    """What takes more changes is better by more than the margin."""
    server = arm.deployment.server.get("page")
    return by_proto(arm) + (0.06 if server == 2 else 0.0)


def results(space: dict[str, Any], truth: Any, seed: int) -> Results:
    study = Simulation(make(space, seed=seed), truth, random.Random(seed), spread=0.004)
    study.run()
    return make_results(study.design, study.history, "done")


PROTO = {"nccl.proto": ["unset", "LL"], "server.page": ["unset", 1]}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("space", "truth", "label", "tied"),
    [
        (PROTO, by_proto, "proto LL", 2),
        ({"speculative.num_steps": [1, 2, 3, 4]}, by_depth, "1 step", 2),
        ({"nccl.proto": ["unset", "LL"], "server.page": ["unset", 2]}, by_page, "proto LL, page 2", 1),
    ],
)
def test_the_simplest_of_the_tied_wins(
    space: dict[str, Any], truth: Any, label: str, tied: int, seed: int
) -> None:
    found = results(space, truth, seed)
    assert found.analysis is not None
    assert len(found.analysis.ties) == tied
    assert found.winner is not None
    assert found.winner.label == label
    assert [row.label for row in found.rows if row.winner] == [label]


def test_a_simpler_setting_that_came_out_slower_is_called_simpler() -> None:
    found = next(
        found
        for seed in range(40)
        if (found := results(PROTO, by_proto, seed)).winner is not None
        and found.analysis is not None
        and found.analysis.best != found.winner.key
    )
    said = " ".join(found.verdict)
    assert "within the margin of 2%, and proto LL is simpler." in said
    assert "Within 2 % of the best, as far as these launches can tell:" in said
