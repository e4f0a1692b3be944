"""A study that runs while nobody looks, and those who look at it from elsewhere."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from tests.tune.folder import ROOT, Folder, wait_for


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def looked(folder: Folder, view: str, *more: str) -> subprocess.CompletedProcess[str]:
    """A look from another process."""
    return subprocess.run(
        [sys.executable, "-m", "eaglecfg", "tune", view, str(folder.path / "study.yaml"), *more],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )


def test_a_study_goes_on_when_its_terminal_is_closed(folder: Folder) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "eaglecfg", *folder.arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(theirs)
    wait_for(lambda: any(event.kind == "running" for event in folder.events))
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=60) == 0
    assert folder.result["winner"]["label"] == "2 steps"
    log = (folder.record / "progress.log").read_text(encoding="utf-8")
    assert "2 steps beats the deployment as it stands by" in log
    assert folder.left_running() == []


def test_a_study_goes_on_when_nobody_reads_its_output(folder: Folder) -> None:
    process = folder.start()
    wait_for(lambda: any(event.kind == "running" for event in folder.events))
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert folder.result["winner"]["label"] == "2 steps"


def test_status_tells_what_runs_and_disturbs_nothing(folder: Folder) -> None:
    once = str(folder.path / "once")
    # It still runs when it is looked at.
    folder.study(flags=["--fault", "slow-start:3", "--fault-once", once])
    assert json.loads(looked(folder, "status", "--format", "json").stdout)["state"] == "never started"
    process = folder.start()
    wait_for(lambda: any(event.kind == "running" for event in folder.events))
    seen = looked(folder, "status")
    assert seen.returncode == 0, seen.stderr
    assert f"study: running (pid {process.pid})" in seen.stdout
    assert "  now      launch " in seen.stdout
    process.communicate(timeout=60)
    assert process.returncode == 0
    after = looked(folder, "status")
    assert (after.returncode, after.stdout.splitlines()[0]) == (
        1,
        "study: finished: every planned launch is done",
    )
    assert "  done     6 launches\n" in after.stdout
    assert len(folder.finished()) == 6


def test_status_goes_by_the_budget_that_options_gave(folder: Folder) -> None:
    folder.study(flags=["--fault", "slow-start:2"])  # it still runs when it is looked at
    soon = datetime.datetime.now() + datetime.timedelta(hours=2)
    given = ["--launches", "4", "--hours", "9", "--until", f"{soon:%H:%M}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "eaglecfg", *folder.arguments, *given],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    wait_for(lambda: any(event.kind == "running" for event in folder.events))
    seen = looked(folder, "status")
    assert process.wait(timeout=60) == 0
    assert seen.returncode == 0, seen.stderr
    done, left = map(int, re.findall(r"done +(\d+) launches?, (\d+) left", seen.stdout)[0])
    assert done + left == 3  # the whole rounds that 4 launches pay for
    assert f"  ends     by {soon:%Y-%m-%d %H:%M}\n" in seen.stdout
    assert "ends" not in looked(folder, "status").stdout


def test_status_knows_a_killed_study_from_one_that_was_interrupted(folder: Folder) -> None:
    for number, state in ((signal.SIGKILL, "killed"), (signal.SIGINT, "interrupted")):
        process = folder.start()
        begun = len(folder.events)
        wait_for(lambda begun=begun: any(event.kind == "running" for event in folder.events[begun:]))
        process.send_signal(number)
        process.communicate(timeout=20)
        assert json.loads(looked(folder, "status", "--format", "json").stdout)["state"] == state


def test_a_report_can_be_had_before_the_end(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    study = str(folder.path / "study.yaml")
    assert run(["tune", "report", study]) == 1
    assert "No setting has been measured yet." in capsys.readouterr().out
    process = folder.start()
    wait_for(lambda: len(folder.finished()) >= 2)
    assert run(["tune", "report", study]) == 0
    assert "The study is not finished" in " ".join(capsys.readouterr().out.split())
    process.communicate(timeout=60)
    assert run(["tune", "report", study, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.strip() == (folder.record / "result.md").read_text().strip()
    assert run(["tune", "report", study, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == dict(folder.result)


def test_an_export_holds_every_launch_and_overwrites_nothing(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    import optuna

    folder.study(flags=["--fault", "oom?speculative_num_steps=2"])
    study, path = str(folder.path / "study.yaml"), folder.path / "study.db"
    assert run(["tune", "export", study, "--sqlite", str(path)]) == 2
    assert "no launch has finished yet" in capsys.readouterr().err
    assert run(folder.arguments) == 0
    assert run(["tune", "export", study, "--sqlite", str(path)]) == 0
    loaded = optuna.load_study(study_name="study", storage=f"sqlite:///{path}")
    states = [trial.state.name for trial in loaded.trials]
    assert (states.count("COMPLETE"), states.count("FAIL")) == (len(folder.finished()) - 1, 1)
    assert {trial.params.get("speculative.num_steps") for trial in loaded.trials} >= {"2", "4"}
    failed = next(trial for trial in loaded.trials if trial.state.name == "FAIL")
    assert failed.user_attrs["failure"] == "oom"
    before = path.read_bytes()
    assert run(["tune", "export", study, "--sqlite", str(path)]) == 2
    assert "a file is there already" in capsys.readouterr().err
    assert path.read_bytes() == before
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


def test_a_hang_up_alone_stops_nothing(folder: Folder) -> None:
    process = folder.start()
    wait_for(lambda: any(event.kind == "running" for event in folder.events))
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert len(folder.finished()) == 6


def test_a_command_runs_at_the_end_and_hears_what_came_of_it(
    folder: Folder, capfd: pytest.CaptureFixture[str]
) -> None:
    told = folder.path / "told"
    script = f'echo "$EAGLECFG_STUDY $EAGLECFG_ENDED $(head -1 "$EAGLECFG_RESULT")" > {told} && exit 3'
    assert run([*folder.arguments, "--then", script]) == 0
    assert told.read_text() == "study finished # Study study\n"
    assert "exit 3 ended with exit code 3" in capfd.readouterr().err
    assert run([*folder.arguments, "--then", str(folder.path / "absent")]) == 0
    assert "absent ended with exit code 127" in capfd.readouterr().err
    assert run([*folder.arguments, "--then", "echo 'half"]) == 2
    assert "--then: sh does not understand" in capfd.readouterr().err


def test_a_command_runs_after_a_study_that_broke_off_and_not_after_one_that_was_refused(
    folder: Folder, capfd: pytest.CaptureFixture[str]
) -> None:
    told = folder.path / "told"
    script = f'echo "$EAGLECFG_ENDED" >> {told}'
    folder.record.mkdir(parents=True)
    full = folder.record / ".result.json.new"
    full.symlink_to("/dev/full")
    assert run([*folder.arguments, "--then", script]) == 2
    assert "no space left on device" in capfd.readouterr().err
    assert told.read_text() == "broke off\n"
    full.unlink()
    process = folder.start()
    wait_for(lambda: any(event.data.get("pid") == process.pid for event in folder.events))
    assert run([*folder.arguments, "--then", script]) == 2
    assert "another process is running this study" in capfd.readouterr().err
    process.communicate(timeout=60)
    assert told.read_text() == "broke off\n"
    folder.study(flags=["--fault", "import"])
    assert run([*folder.arguments, "--then", script]) == 1
    assert told.read_text() == "broke off\ngave up\n"


def test_the_budget_of_a_study_can_be_given_for_one_night(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*folder.arguments, "--hours", "0.0001"]) == 2
    assert "the budget leaves 0 s" in capsys.readouterr().err
    assert run([*folder.arguments, "--launches", "4"]) == 0
    assert len(folder.finished()) == 3
    assert run([*folder.arguments, "--until", "25:00"]) == 2
    assert "expected a time of day such as 07:00, got 25:00" in capsys.readouterr().err
    assert run(folder.arguments) == 0
    assert len(folder.finished()) == 6
