"""The first launch since a machine was started fills caches for the others; nothing is compared with it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.cli.tune_progress import Progress
from eaglecfg.schema.study import Budget
from eaglecfg.tune.account import account_of
from eaglecfg.tune.cold import cold, warming
from eaglecfg.tune.deadline import Deadline, launch_seconds
from eaglecfg.tune.history import History
from eaglecfg.tune.interrupts import Interrupts
from eaglecfg.tune.ledger import Ledger
from eaglecfg.tune.opened import Opened, open_study
from eaglecfg.tune.plan import plan_lines, time_plan
from eaglecfg.tune.profiles import ships_with_eaglecfg
from eaglecfg.tune.schedule import Wanted, next_step
from eaglecfg.tune.study import StudyRun, startup_limits
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
    return opened(folder).history(folder.events)


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
    assert "5 launches, 1 of them to fill caches and not compared, " in out
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
    assert cold(opened(folder), replace(seen, boots=frozenset({"an earlier one"})))
    assert cold(opened(folder), replace(seen, boots=frozenset()))


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


@pytest.mark.parametrize("filling", [True, False])
def test_a_launch_that_found_caches_cold_does_not_lengthen_the_others_nor_end_the_search(
    filling: bool,
) -> None:
    study = Simulation(make(MANY), flat, random.Random(1))
    study.run(1)
    (found,) = study.history.launches
    first, second = replace(found, seconds=200.0), replace(found, n=2, seconds=60.0)
    aside = {"colds": (first,), "launches": ()} if filling else {"launches": (first,)}
    only = replace(study.history, **aside)  # type: ignore[arg-type]
    assert launch_seconds(replace(only, colds=(), launches=()), 80.0) == 80.0
    assert launch_seconds(only, 80.0) == 140.0
    assert launch_seconds(replace(only, launches=(*only.launches, second)), 80.0) == 60.0
    hours = (200.0 + 60.0 * 3 * study.design.final_arms) / 3600
    deadline = Deadline(Budget(hours=hours), 0.0, 60.0, clock=lambda: 0.0)
    assert not deadline.search_over(study.design, only, 0.0)
    assert not deadline.search_over(study.design, replace(only, colds=(), launches=()), 0.0)


def test_a_launch_that_fills_caches_is_not_begun_without_time_for_another() -> None:
    study = Simulation(make({"speculative": ["off", {"num_steps": [1]}]}), flat, random.Random(1))
    step = study.step()
    assert isinstance(step, Wanted)
    deadline = Deadline(Budget(hours=100 / 3600), 0.0, 30.0, clock=lambda: 0.0)
    assert deadline.stop(study.design, study.history, 0.0, step, before_s=60.0) == ""
    assert "time budget is spent" in deadline.stop(study.design, study.history, 0.0, step, before_s=80.0)


def test_one_after_a_reboot_has_the_whole_start_up_limit() -> None:
    study = Simulation(make(MANY), flat, random.Random(1))
    study.run(4)
    arm = study.history.launches[0].arm
    assert startup_limits(600.0, arm, study.history).startup_s == 30.0
    assert startup_limits(600.0, arm, study.history, cold=True).startup_s == 600.0


def test_wrong_answers_of_the_one_that_fills_caches_are_held_against_nobody(folder: Folder) -> None:
    once = str(folder.path / "once")
    folder.study(steps=[2, 4], flags=["--fault", "wrong", "--fault-once", once])
    folder.name_an_engine()
    assert run(folder.arguments) == 0
    assert [failure for *_, failure in folder.finished()] == [""] * 6


def test_that_of_a_check_costs_the_study_nothing(folder: Folder) -> None:
    assert run(["tune", "check", *folder.arguments[1:], "--launches", "2"]) == 0
    seen = history(folder)
    assert (len(seen.colds), seen.busy_s, account_of(seen).launches) == (1, 0.0, 0)


def test_a_study_that_is_done_announces_none(folder: Folder) -> None:
    assert run(folder.arguments) == 0
    ready, seen = opened(folder), replace(history(folder), boots=frozenset())
    assert "first" not in dict(plan_lines(ready, seen))
    assert [name for name, *_ in time_plan(ready, seen)] == ["rounds", "together"]


def test_other_prompts_leave_them_warm_and_other_flags_do_not(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder.arguments) == 0
    study = folder.path / "study.yaml"
    study.write_text(study.read_text("utf-8").replace("output_tokens: 64", "output_tokens: 48"), "utf-8")
    capsys.readouterr()
    assert run(folder.arguments) == 0
    assert "earlier launches are set aside: output_tokens changed since" in capsys.readouterr().out
    assert len(cold_ones(folder)) == 1
    study.write_text(
        study.read_text("utf-8").replace("--virtual", '--max-total-tokens=9000", "--virtual'), "utf-8"
    )
    assert run(folder.arguments) == 0
    assert "earlier launches are set aside: launch.flags changed since" in capsys.readouterr().out
    assert len(cold_ones(folder)) == 2
    assert history(folder).aside == 8


@pytest.mark.parametrize(
    ("prefix", "ours"),
    [
        (["python3", "-m", "eaglecfg.tune.standin"], True),
        (["env", "A=1", "python3", "-m", "eaglecfg.reference.serve"], True),
        (["docker", "run", "--env-file", "eaglecfg.env", "image"], False),
        (["python3", "-m", "sglang.launch_server"], False),
    ],
)
def test_ours_is_what_is_run_as_a_module_of_ours(prefix: list[str], ours: bool) -> None:
    assert ships_with_eaglecfg(prefix) is ours


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


def test_a_failure_of_the_machine_is_none_of_the_baseline() -> None:
    failures = iter(["machine"])
    study = Simulation(make(MANY), flat, random.Random(1), fault=lambda arm, number: next(failures, ""))
    study.run(6)
    step = study.step()
    assert isinstance(step, Wanted)
    assert study.design.baseline is not None
    assert warming(study.design, study.history, step).arm.key == study.design.baseline.key


class Shown:
    """A screen that keeps what it is told."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def say(self, text: str) -> None: ...

    def status(self, text: str) -> None:
        self.states.append(text.partition(":")[0])

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *_: object) -> None: ...


def test_the_status_line_counts_what_is_compared(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    ready, shown = opened(folder), Shown()
    with Ledger(ready.folder / "ledger.jsonl") as ledger:
        progress = Progress(ready, shown, lambda: ready.history(ledger.events))
        StudyRun(ready, ledger, Interrupts(lambda name: None), progress).run()
    expected = ["a launch to fill caches", *(f"launch {number} of 4" for number in range(1, 5))]
    assert list(dict.fromkeys(shown.states)) == expected
