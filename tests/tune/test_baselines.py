"""Nothing is said of a baseline that a study has not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from eaglecfg.tune.arm import OFF, Arm
from eaglecfg.tune.plan import launch_words
from eaglecfg.tune.results import Results, make_results
from eaglecfg.tune.tables import as_json, header, markdown, table
from tests.tune.simulate import Simulation, make
from tests.tune.test_schedule import by_steps

SPACE: dict[str, Any] = {"speculative": [{"num_steps": [1, 2]}]}


def finished(baselines: Sequence[str], space: dict[str, Any] = SPACE, **more: Any) -> Results:
    fault = more.pop("fault", lambda arm, number: "")
    design = make(space, baselines=baselines, **more)
    study = Simulation(design, by_steps, random.Random(3), 0.001, fault=fault)
    study.run()
    return make_results(study.design, study.history, "done")


def whole(found: Results) -> str:
    return markdown("x", found).lower().replace("the deployment as it stands is no baseline", "")


def test_without_the_deployment_as_it_stands_nothing_is_counted_against_it() -> None:
    found = finished(["off"])
    assert header(found)[2:4] == ["vs off", "accept"]
    assert {len(cells) for cells in table(found)} == {len(header(found))}
    assert "as it stands" not in whole(found)
    assert "beats speculation off by" in found.verdict[0]
    assert any("is no baseline of this study" in sentence for sentence in found.verdict)
    rows = as_json("x", "c", found)["settings"]
    assert {row["role"] for row in rows} == {"", "off"}
    assert all(row["against_as_is"] is None for row in rows)
    assert sum(row["against_off"] is not None for row in rows) == len(rows) - 1


def test_without_off_nothing_is_counted_against_that() -> None:
    found = finished(["as_it_stands"])
    assert header(found)[2:4] == ["vs as it stands", "accept"]
    assert "vs off" not in whole(found)
    assert "no baseline" not in markdown("x", found)


def test_a_deployment_that_the_space_holds_is_a_baseline_whatever_is_named() -> None:
    found = finished(["off"], {"speculative": [{"num_steps": [1, 3]}]})
    assert header(found)[2:4] == ["vs as it stands", "vs off"]
    assert "no baseline" not in markdown("x", found)


def test_speculation_off_is_the_deployment_as_it_stands_where_it_has_none() -> None:
    found = finished(["off"], {"nccl.proto": ["LL", "Simple"]}, base={"target": {"checkpoint": "t"}})
    assert header(found)[2:4] == ["vs as it stands", "vs off"]
    assert "no baseline" not in markdown("x", found)
    assert "as it stands, off" in [row.role for row in found.rows]


def refuse_as_it_stands(arm: Arm) -> tuple[str, ...]:
    return () if arm.changed else ("EC999 no",)


def test_a_deployment_that_is_refused_is_no_baseline_either() -> None:
    found = finished(["as_it_stands", "off"], verdict=refuse_as_it_stands)
    assert header(found)[2:4] == ["vs off", "accept"]
    assert sum("The deployment as it stands" in sentence for sentence in found.verdict) == 1


def off_fails(arm: Arm, number: int) -> str:
    return "oom" if arm.label == OFF and number > 2 else ""


def test_a_baseline_that_is_lost_is_named() -> None:
    found = finished(["off"], fault=off_fails)
    assert found.lost is not None
    assert found.baseline == "speculation off"
    assert found.verdict[0].startswith("Speculation off could not be measured")


@pytest.mark.parametrize("baselines", [["off"], ["as_it_stands"], ["off", "as_it_stands"]])
def test_the_plan_counts_the_baselines_that_there_are(baselines: list[str]) -> None:
    space = {"parallel.tp_size": {"low": 1, "high": 30}, "speculative": [{"num_steps": [1, 2]}]}
    design = make(space, baselines=baselines)
    assert ("both baselines" in launch_words(design)) is (len(design.baselines) == 2)
