"""The first launch since a machine was started fills caches for the others; nothing is compared with it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.schema.study import Budget
from eaglecfg.tune.cold import cold, warming
from eaglecfg.tune.deadline import Deadline, launch_seconds
from eaglecfg.tune.history import History, fold
from eaglecfg.tune.opened import Opened, open_study
from eaglecfg.tune.schedule import Wanted, next_step
from tests.tune.folder import Folder
from tests.tune.simulate import Simulation, make
from tests.tune.test_budget_of_launches import MANY
from tests.tune.test_schedule import flat


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.study(steps=[4])
    made.name_an_engine()
    return made


def cold_ones(folder: Folder) -> list[tuple[str, str]]:
    """(label, phase) of the launches that were to fill caches."""
    asked = [event.data for event in folder.events if event.kind == "launch"]
    return [(data["arm"]["label"], data["phase"]) for data in asked if data.get("cold")]


def opened(folder: Folder) -> Opened:
    study = folder.path / "study.yaml"
    return open_study(study, shown=str(study), out=None, launch_anyway=True, environ={})


def history(folder: Folder) -> History:
    return fold(folder.events, opened(folder).conditions)


def test_the_first_launch_is_of_the_baseline_and_is_not_compared(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder.arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert cold_ones(folder) == [("4 steps", "round")]
    assert [label for label, *_ in folder.finished()] == ["off", "4 steps", "4 steps", "off"]
    assert [row["launches"] for row in folder.result["settings"]] == [2, 2]
    assert "one launch of 4 steps fills caches" in out
    assert "[ 0/4] 4 steps fills caches: 312.1 tok/s at 1, accept 2.94," in out
    assert "[ 4/4] off round 2" in out
    assert "5 launches, the first to fill caches and not compared, " in out
    assert "| 1 | 4 steps | fills caches | 312.1 |" in (folder.record / "result.md").read_text("utf-8")
    run(["tune", "status", str(folder.path / "study.yaml")])
    assert "done     4 launches\n" in capsys.readouterr().out


def test_caches_are_filled_once_until_the_machine_is_started_anew(folder: Folder) -> None:
    assert run([*folder.arguments, "--launches", "4"]) == 0
    assert run([*folder.arguments, "--launches", "6"]) == 0
    assert len(cold_ones(folder)) == 1
    assert len(folder.finished()) == 6
    seen = history(folder)
    assert not cold(opened(folder), seen)
    before = replace(
        seen,
        launches=tuple(replace(item, boot="an earlier one") for item in seen.launches),
        colds=tuple(replace(item, boot="an earlier one") for item in seen.colds),
    )
    assert cold(opened(folder), before)
    assert cold(opened(folder), replace(seen, launches=(), colds=()))


def test_a_machine_check_fills_them_and_measures_as_often_as_asked(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tune", "check", *folder.arguments[1:]]) == 0
    assert "machine check: 4 fresh launches of 4 steps" in capsys.readouterr().out
    assert cold_ones(folder) == [("4 steps", "check")]
    assert len(history(folder).checks) == 4
    assert run(folder.arguments) == 0
    assert len(cold_ones(folder)) == 1


def test_one_that_fails_counts_and_the_next_setting_fills_them(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.study(steps=[2, 4], flags=["--fault", "oom?speculative_num_steps=4"])
    folder.name_an_engine()
    run(folder.arguments)
    assert cold_ones(folder) == [("4 steps", "round"), ("off", "round")]
    labels = [(label, bool(failure)) for label, _, _, failure in folder.finished()]
    assert labels.count(("4 steps", True)) == 1
    assert labels.count(("off", False)) == labels.count(("2 steps", False)) == 2
    assert "could not be measured" in capsys.readouterr().out


def test_who_has_no_launch_to_spare_goes_without(folder: Folder) -> None:
    study = folder.path / "study.yaml"
    study.write_text(
        study.read_text("utf-8").replace("  startup_s", "  fill_caches: false\n  startup_s"), "utf-8"
    )
    assert run(folder.arguments) == 0
    assert cold_ones(folder) == []
    assert len(folder.finished()) == 4


def test_what_ships_with_eaglecfg_has_no_caches(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    made.study(steps=[4])
    assert run(made.arguments) == 0
    assert cold_ones(made) == []
    assert len(made.finished()) == 4


def test_a_launch_that_filled_caches_does_not_lengthen_the_others_nor_end_the_search() -> None:
    study = Simulation(make(MANY), flat, random.Random(1))
    study.run(1)
    (first,) = study.history.launches
    only = replace(study.history, launches=(), colds=(replace(first, seconds=200.0),))
    assert launch_seconds(replace(only, colds=()), 80.0) == 80.0
    assert launch_seconds(only, 80.0) == 140.0
    assert launch_seconds(replace(only, launches=(replace(first, seconds=60.0),)), 80.0) == 60.0
    hours = 60.0 * 3 * study.design.final_arms / 3600
    deadline = Deadline(Budget(hours=hours), 0.0, 60.0, clock=lambda: 0.0)
    assert not deadline.search_over(study.design, only, 0.0)


def test_the_baseline_fills_them_unless_it_has_failed() -> None:
    study = Simulation(make(MANY), flat, random.Random(1), fault=lambda arm, number: "oom")
    step = next_step(study.design, study.history)
    assert isinstance(step, Wanted)
    assert study.design.baseline is not None
    first = warming(study.design, study.history, step)
    assert (first.arm.key, first.cold, first.phase) == (study.design.baseline.key, True, step.phase)
    study.launch(first)
    step = next_step(study.design, study.history)
    assert isinstance(step, Wanted)
    assert warming(study.design, study.history, step).arm == step.arm
