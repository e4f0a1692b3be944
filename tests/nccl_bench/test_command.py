"""The command: what it refuses before any launch, what it plans, and one run with torch on the CPU."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eaglecfg.cli.bench_subject import inherited_variables
from eaglecfg.cli.main import run
from eaglecfg.errors import UsageError
from eaglecfg.tune.collective_subject import gpus_seen, interpreter

ROOT = Path(__file__).parents[2]
BENCH = ("bench-allreduce",)
GLOO = (*BENCH, "--backend", "gloo", "--bytes", "14KiB", "--calls", "2", "--replays", "3")
KIMI_LIKE = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t, hidden_size: 7168}
    draft: {checkpoint: d, hidden_size: 7168}
    speculative: {algorithm: EAGLE3, num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}
    parallel: {tp_size: 8}
  plain:
    target: {checkpoint: t}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "eaglecfg.yaml"
    path.write_text(KIMI_LIKE, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _torch_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan needs a Python that has torch installed; it is not imported for one."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch is installed")
    for name in [name for name in os.environ if name.startswith(("NCCL_", "CUDA_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--bytes", "0"), "--bytes takes whole byte counts"),
        (("--bytes", "56KiB", "--setting", "NCCL_PROTOO=LL"), "the nearest name is NCCL_PROTO"),
        (("--bytes", "56KiB", "--setting", "NCCL_PROTO"), "expected NAME=VALUE"),
        (("--bytes", "56KiB", "--setting", "NCCL_DEBUG=INFO"), "NCCL_DEBUG is set by the benchmark itself"),
        (("--bytes", "56KiB", "--settings", "nosuch"), "or a study file; there is no such file"),
        (("--bytes", "56KiB", "--dtype", "int8"), "expected a dtype"),
        (("--bytes", "56KiB", "--python", "/nonexistent/python"), "/nonexistent/python cannot be started"),
        (("--bytes", "56KiB", "--ranks", "1"), "2<=x<=64"),
        (("--config", "/nonexistent/x.yaml"), "/nonexistent/x.yaml"),
        (("--from", "/nonexistent/raw"), "No such file"),
        (
            ("--bytes", "1KiB", "-d", "x"),
            "--deployment is about a deployment, and there is no eaglecfg.yaml here",
        ),
        (("--bytes", "1KiB", "--batch", "1"), "--batch is about a deployment, and there is no eaglecfg.yaml"),
        (("--python", "", "--bytes", "1KiB"), "--python takes the name of a program, got an empty one"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_launch(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = arguments if "--ranks" in arguments or "--from" in arguments else (*arguments, "--ranks", "2")
    assert run([*BENCH, *given]) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert out == ""
    assert "Traceback" not in err


def test_without_gpus_the_command_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert run([*BENCH, "--bytes", "56KiB"]) == 2
    assert "needs two GPUs or more, this machine shows none" in capsys.readouterr().err


def test_nothing_to_measure_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*BENCH, "--ranks", "2"]) == 2
    assert "give --bytes 56KiB,1MiB, or --config FILE" in capsys.readouterr().err


def test_a_deployment_gives_sizes_and_ranks(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    assert run([*BENCH, "--config", str(config), "-d", "chat", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "14 KiB, 56 KiB, 112 KiB, 448 KiB of bfloat16" in out
    assert "11 checks, 3 timed rounds: 44 of 8 processes" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "has chat, plain: name one with --deployment"),
        (("-d", "other"), "has no deployment 'other'; it has chat, plain"),
        (("-d", "plain"), "plain: the hidden size is not known"),
        (("-d", "chat", "--batch", "0"), "--batch takes whole numbers above zero"),
        (("-d", "chat", "--batch", "100000000"), "--batch takes numbers up to 1,000,000, got 100000000"),
        (("-d", "chat", "--batch", "9" * 5000), "--batch takes numbers up to 1,000,000, got 999"),
        (
            ("-d", "chat", "--batch", "1000000"),
            "14000000 KiB (draft step at batch 1000000) is more than 1 GiB",
        ),
    ],
)
def test_a_deployment_that_does_not_tell_is_refused(
    capsys: pytest.CaptureFixture[str], config: Path, arguments: tuple[str, ...], words: str
) -> None:
    assert run([*BENCH, "--config", str(config), *arguments]) == 2
    assert words in capsys.readouterr().err


def test_sizes_beside_a_deployment_are_those_alone_and_said_to_be(
    capsys: pytest.CaptureFixture[str], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("--config", str(config), "-d", "chat", "--bytes", "1KiB", "--dry-run")
    assert run([*BENCH, *given]) == 0
    out, err = capsys.readouterr()
    assert "sizes     1 KiB of bfloat16" in out
    assert "note: sizes are those of --bytes alone; ranks and dtype are of chat" in err
    monkeypatch.chdir(config.parent)
    assert run([*BENCH, "-d", "chat", "--bytes", "1KiB", "--batch", "1", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "sizes     1 KiB, 14 KiB, 56 KiB of bfloat16" in out
    assert "note" not in err


def test_a_study_of_another_deployment_is_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    study = ROOT / "studies" / "overnight-nccl-steps.yaml"
    assert run([*BENCH, "--settings", str(study), "-d", "other", "--dry-run"]) == 2
    assert "--deployment other: the study of --settings is of " in capsys.readouterr().err


def test_a_study_gives_its_nccl_space_and_its_deployment(capsys: pytest.CaptureFixture[str]) -> None:
    study = ROOT / "studies" / "overnight-nccl-steps.yaml"
    assert run([*BENCH, "--settings", str(study), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "PROTO=LL ALGO=Ring (NCCL_PROTO=LL NCCL_ALGO=Ring)" in " ".join(out.split())
    assert "12 checks, 3 timed rounds: 48 of 2 processes" in out


def test_what_holds_already_is_known_from_environment_and_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "nccl.conf"
    conf.write_text("NCCL_PROTO=Simple\nNCCL_ALGO=Ring\n", encoding="utf-8")
    monkeypatch.setenv("NCCL_CONF_FILE", str(conf))
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    found = inherited_variables(dict(os.environ))
    assert (found["NCCL_PROTO"], found["NCCL_ALGO"]) == ("Simple", "Tree")
    given = ("--bytes", "56KiB", "--ranks", "2", "--setting", "NCCL_PROTO=LL", "--dry-run")
    assert run([*BENCH, *given]) == 0
    assert "note: NCCL_PROTO=LL: NCCL_PROTO=Simple holds on this machine" in capsys.readouterr().err


def test_anyway_turns_a_refusal_into_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--bytes", "56KiB", "--ranks", "2", "--setting", "NCCL_PROTOO=LL", "--anyway", "--dry-run")
    assert run([*BENCH, *given]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("warning: NCCL_PROTOO=LL: ")
    assert "2 checks" in out


def test_an_error_is_json_where_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*BENCH, "--bytes", "0", "--format", "json"]) == 2
    assert "--bytes takes" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_a_python_without_torch_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    with pytest.raises(UsageError, match="has no torch; name the Python that has it with --python"):
        interpreter(str(bare), {})


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "#!/bin/sh\necho hello\n", "#!/bin/sh\nexit 7\n", "\x7fELF"])
def test_what_is_no_python_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "python"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    with pytest.raises(UsageError, match=r"does not answer as a Python would|cannot be started"):
        interpreter(str(path), {})


def test_gpus_are_counted_as_a_process_would_see_them(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    seen = {"": 0, "0,1": 2, "1": 1, "0,-1,1": 1, "GPU-aa,GPU-bb": 2, "0,1,2,3": 3}
    assert {text: gpus_seen({"CUDA_VISIBLE_DEVICES": text}, tmp_path) for text in seen} == seen
    assert gpus_seen({}, tmp_path) == 3
    assert gpus_seen({}, tmp_path / "none") == 0


def test_two_ranks_sum_rightly_on_the_cpu_and_one_that_hangs_is_left_out(tmp_path: Path) -> None:
    """The real worker with gloo: two settings, one of which hangs in its check."""
    raw = tmp_path / "raw.jsonl"
    command = [sys.executable, "-m", "eaglecfg", *GLOO, "--processes", "1", "--time-limit", "1"]
    command += [
        "--setting",
        "EAGLECFG_BENCH_FAULT=hang:1:connected",
        "--output",
        str(raw),
        "--format",
        "json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    verdicts = {each["setting"]: each["verdict"] for each in data["results"]}
    assert verdicts == {"default": "baseline", "EAGLECFG_BENCH_FAULT=hang:1:connected": "failed"}
    assert data["failures"][0]["failure"] == "hang"
    assert "rank 1 in the first size" in data["failures"][0]["message"]
    assert data["summary"]["compared_sums"] == 2 * (3 * 4) + 2 * (3 + 1)  # checks in three dtypes; timed ones
    assert data["results"][0]["us"] > 0
    rows = [json.loads(line)["event"] for line in raw.read_text().splitlines()]
    assert rows == ["start", "launch", "launch", "launch", "end"]
    assert "[  3/3] default, round 1: 14 KiB" in done.stderr


def test_an_interrupt_shows_what_was_measured_and_ends_the_ranks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eaglecfg", *GLOO, "--processes", "50"]
    with (tmp_path / "err").open("w") as err, (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err)
        deadline = time.monotonic() + 60
        while "check: 24 sums right" not in (tmp_path / "err").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert "did not go to its end" in (tmp_path / "out").read_text()
    assert "Traceback" not in (tmp_path / "err").read_text()


@pytest.mark.parametrize("name", ["", "none/raw"])
def test_results_that_could_not_be_written_stop_before_any_launch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    assert run([*GLOO, "--output", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith(f"eaglecfg: {tmp_path / name}: ")


def test_nothing_that_makes_results_goes_with_results_that_are_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from eaglecfg.cli.bench_allreduce import SHOWING, command

    values = {"--backend": "gloo", "--bytes": "1KiB", "--ranks": "2", "--calls": "2", "--replays": "3"}
    values |= {"--processes": "1", "--time-limit": "2"}
    for option in command.params:
        if option.name in SHOWING or not option.expose_value:
            continue
        name = option.opts[0]
        given = (name,) if getattr(option, "is_flag", False) else (name, values.get(name, "x"))
        assert run([*BENCH, "--from", str(tmp_path / "raw"), *given]) == 2
        assert f"{name} has nothing to act on, leave it out" in capsys.readouterr().err


def test_a_recorded_run_is_shown_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from eaglecfg.nccl.bench.launches import launch_data, plan_data
    from tests.nccl_bench.conftest import LL, launch, make_plan

    rows = [{"event": "start", "format": 1, "plan": plan_data(make_plan(settings=[LL]))}]
    rows += [
        launch_data(launch(name, n, {14336: us, 57344: us}))
        for name, us in (("default", 10.0), ("LL", 9.0))
        for n in range(3)
    ]
    path = tmp_path / "raw"
    path.write_text("\n".join(map(json.dumps, [*rows, {"event": "end"}])) + "\n", encoding="utf-8")
    assert run([*BENCH, "--from", str(path)]) == 0
    assert "LL -10.0 %" in capsys.readouterr().out
    assert run([*BENCH, "--from", str(path), "--format", "markdown"]) == 0
    assert "| LL | 9.00 |" in capsys.readouterr().out
