"""The machine check: its launches tell the spread, stand in the record, and are no part of the study's
own."""

from __future__ import annotations

import json
import math
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.tune.history import CHECK, fold
from eaglecfg.tune.machine_check import (
    block_spread,
    check_lines,
    make_check,
    next_check,
    slope,
    spread_interval,
)
from eaglecfg.tune.ranking import spread_of
from eaglecfg.tune.schedule import Finished, Wanted
from eaglecfg.tune.statistics import resolvable
from tests.tune.folder import Folder, wait_for
from tests.tune.simulate import Simulation, make


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.study(steps=[4], flags=["--noise", "0.02"])
    return made


def checking(folder: Folder, *more: str) -> list[str]:
    return ["tune", "check", str(folder.path / "study.yaml"), "--launch-anyway", *more]


def flat(text: str) -> str:
    return " ".join(text.split())


def simulation(seed: int = 0, **more: Any) -> Simulation:
    design = make({"speculative.num_steps": [1, 2, 3]})
    return Simulation(design, lambda arm: 0.0, random.Random(seed), **more)


def checked(sim: Simulation, count: int) -> Finished:
    """Run a check in a simulation to its end."""
    while True:
        step = next_check(sim.design, sim.history, count)
        if isinstance(step, Finished):
            return step
        assert isinstance(step, Wanted)
        sim.launch(step)


def test_a_check_measures_the_baseline_and_nothing_of_the_study_counts_it(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(checking(folder)) == 0
    out = flat(capsys.readouterr().out)
    assert "machine check: 4 fresh launches of 4 steps" in out
    assert "launches differ by" in out
    assert "standard deviation of their speed" in out
    assert "within a launch, for the same prompts" in out
    assert "among 2 settings" in out
    launches = [event.data for event in folder.events if event.kind == "launch"]
    assert [item["phase"] for item in launches] == ["check"] * 4
    assert {item["arm"]["label"] for item in launches} == {"4 steps"}
    found = folder.events[-1]
    assert (found.kind, found.data["found"]["launches"]) == ("checked", 4)
    assert not (folder.record / "result.json").exists()

    assert run(["tune", "status", str(folder.path / "study.yaml")]) == 1
    out = capsys.readouterr().out
    assert "study: checked: 4 launches of 4 steps are done" in out
    assert "done     0 launches, 4 left" in out

    assert run(folder.arguments) == 0
    out = flat(capsys.readouterr().out)
    assert "(seen in this study)" in out.split("[ 1/4]")[0]
    assert "as seen so far" in out.split("[ 1/4]")[0]
    assert folder.result["launches"] == 4
    assert all(row["launches"] == 2 for row in folder.result["settings"])
    assert run(["tune", "report", str(folder.path / "study.yaml")]) == 0
    assert "machine check: 4 fresh launches" in capsys.readouterr().out


def test_a_check_that_is_done_launches_nothing_and_more_launches_extend_it(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(checking(folder, "--launches", "2")) == 0
    assert run(checking(folder, "--launches", "2")) == 0
    assert len(folder.finished()) == 2
    assert "drift" not in capsys.readouterr().out
    assert run(checking(folder, "--launches", "3")) == 0
    assert len(folder.finished()) == 3
    assert "drift" in capsys.readouterr().out


def test_a_check_that_was_interrupted_or_killed_goes_on(folder: Folder) -> None:
    import os
    import subprocess
    import sys

    from tests.tune.folder import ROOT

    for number in (signal.SIGINT, signal.SIGKILL):
        done = len([event for event in folder.events if event.kind == "running"])
        process = subprocess.Popen(
            [sys.executable, "-m", "eaglecfg", *checking(folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        wait_for(lambda done=done: sum(event.kind == "running" for event in folder.events) > done + 1)
        process.send_signal(number)
        assert process.wait(20) == (130 if number == signal.SIGINT else -signal.SIGKILL)
    before = len(folder.finished())
    assert before >= 2
    assert run(checking(folder)) == 0
    assert len(folder.finished()) == 4
    assert folder.left_running() == []


def test_a_baseline_that_fails_is_not_launched_four_times(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    mended = folder.path / "mended"
    flags = ["--fault", "oom", "--fault-unless", str(mended)]
    folder.study(steps=[4], flags=flags)
    assert run(checking(folder)) == 1
    assert "the check gave up: 4 steps cannot be launched: " in capsys.readouterr().err
    assert len(folder.finished()) == 1
    mended.touch()
    assert run(checking(folder)) == 1
    assert len(folder.finished()) == 1
    assert run(checking(folder, "--retry-failed")) == 0
    assert len(folder.finished()) == 5


def test_what_the_machine_spoilt_is_launched_again() -> None:
    sim = simulation(fault=lambda arm, number: "machine" if number == 2 else "")
    assert not checked(sim, 4).broken
    assert [item.failure for item in sim.history.checks] == ["", "machine", "", "", ""]
    sim = simulation(fault=lambda arm, number: "machine")
    assert checked(sim, 4).why.startswith("3 launches in a row failed for reasons of the machine")


def test_a_study_is_the_same_with_and_without_a_check_before_it() -> None:
    plain, after = simulation(), simulation()
    checked(after, 4)
    assert after.history.launches == ()
    plain.run()
    after.steps.clear()
    after.run()
    assert plain.sequence == after.sequence
    assert len(plain.history.launches) == len(after.history.launches)
    assert {item.phase for item in after.history.checks} == {CHECK}


def test_the_spread_of_the_plan_is_that_of_the_check() -> None:
    sim = simulation(spread=0.05)
    assert not spread_of(sim.history)[1]
    checked(sim, 200)
    spread, seen = spread_of(sim.history)
    assert seen
    assert spread == pytest.approx(0.05, rel=0.2)


def test_the_interval_of_the_spread_holds_the_truth_nineteen_times_in_twenty() -> None:
    rng, inside = random.Random(3), 0
    for _ in range(1000):
        values = [rng.gauss(0, 0.02) for _ in range(4)]
        centre = sum(values) / 4
        low, high = spread_interval(math.sqrt(sum((value - centre) ** 2 for value in values) / 3), 3)
        inside += low <= 0.02 <= high
    assert 925 <= inside <= 975


def test_the_gain_that_is_promised_is_found_four_times_in_five() -> None:
    """On the average, over checks of a machine whose spread is known."""
    promised = []
    for seed in range(40):
        sim = simulation(seed, spread=0.02)
        checked(sim, 40)
        found = make_check(sim.design, sim.history)
        assert found is not None
        promised.append(found.resolves[1].gain)
    truth = resolvable(0.02, 5, found.settings)
    assert sum(promised) / len(promised) == pytest.approx(truth, rel=0.05)


def test_a_drift_is_told_from_noise() -> None:
    assert slope([0.0, 0.01]) is None
    steep, _, high = slope([0.0, -0.0099, -0.0201, -0.03]) or (0.0, 0.0, 0.0)
    assert steep == pytest.approx(-0.01, abs=1e-3)
    assert high < 0
    sim = simulation(spread=0.001, drift=-0.01)
    checked(sim, 4)
    found = make_check(sim.design, sim.history)
    assert found is not None
    assert any(
        "drift               -1." in line and "none is shown" not in line for line in check_lines(found)
    )


def test_what_prompts_make_of_a_block_is_no_spread() -> None:
    sim = simulation()
    checked(sim, 2)
    first = sim.history.checks[0]
    from dataclasses import replace

    prompts = (0.0, 0.3, -0.2)
    same = [replace(first, blocks={1: tuple(value + shift for value in prompts)}) for shift in (0.0, 0.05)]
    assert block_spread(same) == pytest.approx(0.0, abs=1e-12)
    odd = [same[0], replace(first, blocks={1: (0.0, 0.32, -0.2)})]
    assert block_spread(odd) == pytest.approx(0.01 * math.sqrt(2 / 3) / math.sqrt(1), rel=0.5)
    assert block_spread([replace(first, blocks={1: (0.0,)})] * 2) is None


def test_launches_under_other_conditions_are_no_part_of_a_check() -> None:
    sim = simulation()
    checked(sim, 4)
    other = fold(sim.events, "others")
    assert (len(other.checks), other.aside) == (0, 4)


def test_a_check_is_refused_like_a_study(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", "check", str(folder.path / "absent.yaml")]) == 2
    assert run(checking(folder, "--launches", "1")) == 2
    assert run(checking(folder, "--launch-prefix", "no-such-program-here")) == 2
    assert "expected a program that can be run, got no-such-program-here" in capsys.readouterr().err
    assert folder.events == ()
    assert not list(folder.path.rglob("*.json"))
    assert json.dumps(run(["tune", "check", "--help"])) == "0"
