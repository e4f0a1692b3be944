"""Whole studies against real server processes: the stand-in, fast and always with the same numbers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.cli.tune_progress import best_words
from tests.tune.folder import CONFIG, ROOT, Folder, wait_for


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_study_finds_the_best_shape_and_offers_it_as_a_patch(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*folder.arguments, "--apply"]) == 0
    out = capsys.readouterr().out
    assert "2 steps beats the deployment as it stands by" in out
    assert "-    speculative: {num_steps: 4, eagle_topk: 1, num_draft_tokens: 5}   # as ever" in out
    edited = (folder.path / "eaglecfg.yaml").read_text(encoding="utf-8")
    shape = CONFIG.replace("num_steps: 4", "num_steps: 2").replace("tokens: 5", "tokens: 3")
    result = folder.result
    measured = next(row["accept_length"] for row in result["settings"] if row["winner"])
    assert edited == f"{shape}    expected_accept_length: {round(measured, 2)}\n"
    assert result["winner"]["label"] == "2 steps"
    rows = {row["label"]: row for row in result["settings"]}
    assert rows["2 steps"]["accept_length"] > 1.5
    assert rows["off"]["accept_length"] is None
    assert rows["off"]["launches"] == 2
    assert rows["2 steps"]["step_ms"]["1"] > rows["off"]["step_ms"]["1"]
    assert rows["4 steps"]["role"] == "as it stands"
    positions = rows["2 steps"]["per_position"]["1"]
    assert sum(positions) == pytest.approx(rows["2 steps"]["accept_length"] - 1, abs=1e-4)
    assert rows["off"]["per_position"] == {}
    waits = rows["2 steps"]["latency_ms"]["1"]
    assert 0 < waits["ttft_p50"] <= waits["ttft_p99"]
    assert waits["itl_p50"] == pytest.approx(rows["2 steps"]["step_ms"]["1"], rel=0.01)
    shares = " ".join(f"{share:.2f}" for share in positions)
    assert f" | {waits['itl_p99']:.2f} | {shares} |" in (folder.record / "result.md").read_text(
        encoding="utf-8"
    )
    assert (folder.record / "winner.patch").read_text(encoding="utf-8") in out
    assert "| 2 steps<br>(winner, fastest) |" in (folder.record / "result.md").read_text(encoding="utf-8")
    assert folder.left_running() == []


def test_the_winner_is_written_through_a_link_and_the_mode_stays(folder: Folder) -> None:
    config, real = folder.path / "eaglecfg.yaml", folder.path / "shared.yaml"
    config.rename(real)
    real.chmod(0o640)
    config.symlink_to(real.name)
    assert run([*folder.arguments, "--apply"]) == 0
    assert config.is_symlink()
    assert "num_steps: 2" in real.read_text(encoding="utf-8")
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_config_that_was_edited_meanwhile_is_not_written_over(folder: Folder) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "eaglecfg", *folder.arguments, "--apply"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    wait_for(lambda: any(event.kind == "running" for event in folder.events))
    config, edited = folder.path / "eaglecfg.yaml", "# mine\n" + CONFIG
    config.write_text(edited, encoding="utf-8")
    out, _ = process.communicate(timeout=60)
    assert "was edited since the study began" in out
    assert config.read_text(encoding="utf-8") == edited
    assert (folder.record / "winner.patch").exists()


def test_the_best_so_far_is_told_from_the_number_of_the_table() -> None:
    drawn = best_words("2 steps", 1.0721, drawn=True)
    assert drawn == "best 2 steps +7.2 % so far (less what luck may add)"
    once = best_words("2 steps", 1.0721, drawn=False)
    assert once == "best 2 steps +7.2 % so far (luck may be part of it)"
    assert best_words("4 steps", 1.0, drawn=True) == "best 4 steps (the baseline)"
    assert best_words("as it stands", 1.0, drawn=True) == "best as it stands"


def test_every_launch_keeps_its_command_environment_log_and_requests(folder: Folder) -> None:
    folder.study(steps=[4])
    assert run(folder.arguments) == 0
    launches = sorted((folder.record / "launches").iterdir())
    assert len(launches) == 4
    for launch in launches:
        names = {item.name for item in launch.iterdir()}
        assert {"command.json", "server.log", "requests.jsonl", "result.json", "server_info.json"} <= names
        assert "eaglecfg.tune.standin" in json.loads((launch / "command.json").read_text())["argv"]
    assert (folder.path / ".eaglecfg" / ".gitignore").read_text() == "*\n"


def test_the_same_command_launches_nothing_twice(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.study(steps=[4])
    assert run(folder.arguments) == 0
    before = folder.finished()
    capsys.readouterr()
    assert run(folder.arguments) == 0
    assert folder.finished() == before
    assert "4 launches are done; 0 launches" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_the_server_and_says_so(folder: Folder, number: signal.Signals) -> None:
    folder.study(tokens=4096)
    process = folder.start()
    wait_for(lambda: any(event.kind == "running" for event in folder.events))
    time.sleep(0.3)
    process.send_signal(number)
    time.sleep(0.01)
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in out
    assert f"{number.name}: stopping the server" in out
    assert "the same command goes on from there" in " ".join(out.split())
    last = folder.events[-1]
    assert (last.kind, last.data["signal"]) == ("interrupted", number.name)
    assert last.data["cleanup"]["proven"]
    assert folder.left_running() == []


def test_two_runs_of_one_study_are_refused(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    process = folder.start()
    wait_for(lambda: len(folder.events) > 1)
    assert run(folder.arguments) == 2
    assert "another process is running this study" in capsys.readouterr().err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)


def test_a_setting_that_crashes_is_listed_and_does_not_stop_the_study(folder: Folder) -> None:
    folder.study(flags=["--fault", "oom?speculative_num_steps=2"])
    assert run(folder.arguments) == 0
    failed = [row for row in folder.finished() if row[3]]
    assert [(label, failure) for label, _, _, failure in failed] == [("2 steps", "oom")]
    assert folder.result["failures"][0]["class"] == "oom"
    assert any("CUDA out of memory" in line for line in folder.result["failures"][0]["lines"])
    assert folder.result["winner"] is None


def test_a_baseline_that_crashes_once_is_launched_again(folder: Folder) -> None:
    once = ["--fault", "crash?speculative_num_steps=4", "--fault-once", str(folder.path / "once")]
    folder.study(flags=once)
    assert run(folder.arguments) == 0
    assert [failure for label, _, _, failure in folder.finished() if label == "4 steps"] == ["crash", "", ""]
    assert folder.result["winner"]["label"] == "2 steps"


def test_nothing_wins_over_a_deployment_that_could_not_be_measured(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    mended = folder.path / "mended"
    folder.study(flags=["--fault", "crash?speculative_num_steps=4", "--fault-unless", str(mended)])
    assert run([*folder.arguments, "--apply"]) == 1
    captured = capsys.readouterr()
    assert "The deployment as it stands could not be measured (crash: " in folder.result["verdict"][0]
    assert "--retry-failed" in folder.result["verdict"][0]
    assert "nothing to apply: the deployment as it stands could not be measured" in captured.err
    assert folder.result["winner"] is None
    assert not (folder.record / "winner.patch").exists()
    assert (folder.path / "eaglecfg.yaml").read_text(encoding="utf-8") == CONFIG
    assert [failure for label, *_, failure in folder.finished() if label == "4 steps"] == ["crash"] * 2
    mended.touch()
    assert run([*folder.arguments, "--retry-failed"]) == 0
    assert folder.result["winner"]["label"] == "2 steps"


def share_the_shape(folder: Folder) -> str:
    """A second deployment that has its shape from the first, through an anchor."""
    text = CONFIG.replace("speculative: {", "speculative: &s {").replace("   # as ever", "")
    text += "  other: {target: {checkpoint: t}, draft: {checkpoint: d}, speculative: *s}\n"
    (folder.path / "eaglecfg.yaml").write_text(text, encoding="utf-8")
    return text


def test_a_winner_that_cannot_be_a_patch_is_told_to_be_written_by_hand(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    share_the_shape(folder)
    assert run(folder.arguments) == 0
    out = capsys.readouterr().out
    assert "is shared through an anchor" in out
    hand = "write by hand for chat: speculative.num_draft_tokens: 3, speculative.num_steps: 2"
    assert f"no patch is offered: {folder.path}" in out
    assert hand in out
    assert folder.result["winner"]["label"] == "2 steps"


def test_apply_looks_for_shared_anchors_before_the_first_launch(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    text = share_the_shape(folder)
    assert run([*folder.arguments, "--apply"]) == 2
    assert "is shared through an anchor" in capsys.readouterr().err
    assert not folder.record.exists()
    assert (folder.path / "eaglecfg.yaml").read_text(encoding="utf-8") == text


def test_a_full_disk_is_told_in_one_sentence(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.record.mkdir(parents=True)
    (folder.record / ".result.json.new").symlink_to("/dev/full")
    assert run(folder.arguments) == 2
    error = capsys.readouterr().err
    assert f"{folder.record}: no space left on device: every launch that is in the record is kept" in error
    (folder.record / ".result.json.new").unlink()
    assert run(folder.arguments) == 0
    assert len(folder.finished()) == 6


def test_a_taken_port_is_tried_again(folder: Folder) -> None:
    folder.study(steps=[4], flags=["--fault", "port", "--fault-once", str(folder.path / "once")])
    assert run(folder.arguments) == 0
    assert [failure for *_, failure in folder.finished()] == ["machine"] + [""] * 4


def test_wrong_output_is_a_failure_however_fast(folder: Folder) -> None:
    folder.study(flags=["--fault", "wrong?speculative_num_steps=2"])
    assert run(folder.arguments) == 0
    assert [item["class"] for item in folder.result["failures"]] == ["output"]
    assert "2 steps" not in {row["label"] for row in folder.result["settings"] if row["launches"]}


def test_nothing_that_starts_gives_exit_code_1(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.study(flags=["--fault", "import"])
    assert run(folder.arguments) == 1
    captured = capsys.readouterr()
    assert "No setting could be measured." in captured.out
    assert "no baseline can be launched" in captured.err


def test_a_rewritten_setting_counts_for_what_ran(folder: Folder) -> None:
    # The last of two equal flags wins, as in an engine that corrects what it is given.
    folder.study(flags=["--speculative-num-draft-tokens", "5", "--speculative-num-steps", "4"])
    assert run(folder.arguments) == 0
    labels = [label for label, *_ in folder.finished()]
    assert labels.count("2 steps") == 1
    rows = {row["label"]: row for row in folder.result["settings"]}
    assert rows["2 steps"]["launches"] == 0
    assert rows["4 steps"]["launches"] == 3
    assert rows["2 steps"]["notes"][0].startswith("the server rewrites it: speculative_num_")


def test_launches_under_other_conditions_are_set_aside(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.study(steps=[4])
    assert run(folder.arguments) == 0
    folder.study(steps=[4], tokens=20)
    capsys.readouterr()
    assert run(folder.arguments) == 0
    out = capsys.readouterr().out
    assert "4 launches of this record were measured under other conditions" in out
    assert "note: earlier launches are set aside: output_tokens changed since" in out
    assert len(folder.finished()) == 8


def test_failed_settings_are_launched_again_when_asked_and_the_ledger_says_so(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    here = folder.path / "mended"
    # The fault has a cause outside the study: it is gone once the file is there.
    folder.study(flags=["--fault", "oom?speculative_num_steps=2", "--fault-unless", str(here)])
    assert run(folder.arguments) == 0
    here.touch()
    out = " ".join(capsys.readouterr().out.split())
    assert "2 steps: oom: the server ended during start-up with exit status 1 [torch.OutOf" in out
    assert "not launched again, except with --retry-failed" in out
    assert run(folder.arguments) == 0
    assert [label for label, *_ in folder.finished()].count("2 steps") == 1
    assert run([*folder.arguments, "--retry-failed"]) == 0
    again = " ".join(capsys.readouterr().out.split())
    assert "note: failed before, launched again: 2 steps (--retry-failed)" in again
    retries = [event.data for event in folder.events if event.kind == "retry"]
    assert [(len(data["arms"]), data["why"]) for data in retries] == [(1, "--retry-failed")]
    assert [failure for label, _, _, failure in folder.finished() if label == "2 steps"] == ["oom", "", ""]
    assert not folder.result["failures"]


def test_a_raised_start_up_limit_launches_again_what_took_too_long(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = ["--fault", "slow-start:1.2?speculative_num_steps=2"]
    folder.study(flags=slow, startup_s=0.9)
    assert run(folder.arguments) == 0
    assert [failure for label, _, _, failure in folder.finished() if label == "2 steps"] == ["startup"] * 2
    folder.study(flags=slow, startup_s=20)
    assert run(folder.arguments) == 0
    assert "launched again: 2 steps (launch.startup_s was 0.9 s, is 20 s)" in capsys.readouterr().out
    tries = [failure for label, _, _, failure in folder.finished() if label == "2 steps"]
    assert tries == ["startup", "startup", "", ""]
    assert folder.result["winner"]["label"] == "2 steps"


def test_another_environment_of_the_launch_gives_what_failed_another_chance(folder: Folder) -> None:
    folder.study(steps=[4], flags=["--fault", "cuda?DRIVER=old"], env="{DRIVER: old}")
    assert run(folder.arguments) == 1
    assert run(folder.arguments) == 1
    assert [failure for *_, failure in folder.finished()] == ["cuda"] * 2
    folder.study(steps=[4], flags=["--fault", "cuda?DRIVER=old"], env="{DRIVER: new}")
    assert run(folder.arguments) == 0
    assert [failure for *_, failure in folder.finished()] == ["cuda"] * 2 + [""] * 4


def test_a_budget_ends_the_study(folder: Folder) -> None:
    folder.study(more="budget: {launches: 4}\n")
    assert run(folder.arguments) == 0
    assert len(folder.finished()) == 3
    rest = ": the one that is left pays for no whole round"
    assert folder.result["finished"] == f"the budget of 4 launches is spent{rest}"


def test_a_limit_keeps_a_setting_from_winning(folder: Folder) -> None:
    folder.study(more="objective: {concurrency: [1], limits: {itl_p50_ms: 0.001}}\n")
    assert run(folder.arguments) == 0
    assert folder.result["winner"] is None
    assert any("over the limit: itl_p50_ms" in note for note in folder.result["settings"][0]["notes"])
