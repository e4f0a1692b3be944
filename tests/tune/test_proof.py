"""After a study one untimed launch with NCCL's log on says whether the NCCL settings acted."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.proof import logged, nccl_keys, read_server_log, short_plan
from eaglecfg.tune.proof_words import proof_words
from eaglecfg.tune.trial import MeasurePlan, ServerCommand
from tests.tune.folder import Folder, wait_for

CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t}
    draft: {checkpoint: d}
    parallel: {tp_size: 2}
    server: {disable_custom_all_reduce: true}
    speculative: {num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}
"""


class Nccl(Folder):
    """A study of NCCL's protocol over two ranks. ``off`` is left out of the space, but launched as a
    baseline all the same."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        (path / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")

    def nccl_study(self) -> None:
        text = (
            "version: 1\nconfig: eaglecfg.yaml\ndeployment: chat\nprofile: demo\n"
            "launch:\n  prefix: ['{python}', -m, eaglecfg.tune.standin]\n"
            f"  flags: {json.dumps(['--virtual-clock', *FLAGS])}\n"
            "space:\n  nccl.proto: [unset, LL]\n"
            "workload: {prompts: prompts.jsonl, output_tokens: 16}\nbudget: {launches: 6}\n"
        )
        (self.path / "study.yaml").write_text(text, encoding="utf-8")

    @property
    def proofs(self) -> list[Mapping[str, Any]]:
        return [event.data for event in self.events if event.kind == "proof"]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


FAULTS = {
    "lost": "nccl-lost:NCCL_PROTO",
    "broken": "oom",
    "slow": "slow-start:20",
}
"""Faults of the proof's server alone: they happen where the environment of the command says so."""
FLAGS = [word for name, fault in FAULTS.items() for word in ("--fault", f"{fault}?PROOF={name}")]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that is measured, without its proof."""
    study = Nccl(tmp_path_factory.mktemp("measured"))
    study.nccl_study()
    assert run([*study.arguments, "--no-proof"]) == 0
    assert "proof" not in study.kinds
    return study.path


@pytest.fixture
def study(measured: Path, tmp_path: Path) -> Nccl:
    """A copy of it."""
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True)
    copied = Nccl(tmp_path)
    copied.nccl_study()
    return copied


def test_winner_and_baseline_are_proven_and_nothing_is_measured_by_it(
    study: Nccl, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = study.finished()
    capsys.readouterr()
    assert run(study.arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert study.finished() == before
    assert [(one["arm"]["label"], one["role"], one["failure"]) for one in study.proofs] == [
        ("proto LL", "setting", ""),
        ("as it stands", "baseline", ""),
    ]
    assert "In a launch of proto LL with NCCL's log on (NCCL 2.27.5+cuda12.9), not timed: " in out
    assert "NCCL_PROTO=LL acted (AllReduce of 8 KiB ran Ring LL once" in out
    assert "NCCL chose otherwise than under the baseline for 1 of 4 messages that both have." in out
    result = study.result
    assert [one["status"] for one in result["proofs"][0]["settings"]] == ["acted"]
    assert result["winner"]["label"] == "proto LL"
    assert "NCCL_PROTO=LL acted" in (study.record / "result.md").read_text(encoding="utf-8")
    folder = Path(study.proofs[0]["folder"])
    assert {"server.log", "command.json", "requests.jsonl"} <= {item.name for item in folder.iterdir()}
    assert json.loads((folder / "command.json").read_text())["env"]["NCCL_DEBUG"] == "INFO"
    # The same command launches nothing again, and says the same.
    assert run(study.arguments) == 0
    assert len(study.proofs) == 2
    assert "NCCL_PROTO=LL acted" in " ".join(capsys.readouterr().out.split())
    assert study.kinds.count("launch") == len(before)


def test_a_setting_that_never_reached_nccl_is_told(
    study: Nccl, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROOF", "lost")
    assert run(study.arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "NCCL_PROTO=LL was NOT taken (NCCL never read it in these processes)" in out
    assert "for all 4 messages that both have: a gain is not shown to come from its settings" in out


def test_a_proof_that_fails_spoils_nothing_and_is_made_again_on_demand(
    study: Nccl, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROOF", "broken")
    assert run(study.arguments) == 0
    assert "is not known: the launch of proto LL with NCCL's log on failed (oom" in " ".join(
        capsys.readouterr().out.split()
    )
    assert study.result["winner"]["label"] == "proto LL"
    assert run(study.arguments) == 0
    assert len(study.proofs) == 2
    assert run([*study.arguments, "--retry-failed"]) == 0
    assert len(study.proofs) == 4


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_proof_that_is_cut_short_leaves_nothing_running(
    study: Nccl, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROOF", "slow")
    process = study.start()
    wait_for(lambda: "proof_running" in study.kinds)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == (130 if number is signal.SIGINT else -number)
    assert run([*study.arguments, "--no-proof"]) == 0
    if number is signal.SIGKILL:
        assert study.kinds.count("proof_orphan") == 1
    marks = [event.data["marker"] for event in study.events if event.kind == "proof_running"]
    assert marks
    assert running(marks) == []
    assert study.proofs == []


def running(marks: Sequence[str]) -> list[str]:
    """Processes whose environment holds one of these markers."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        found += [entry.name for mark in marks if mark.encode() in environment]
    return found


def test_without_time_left_no_proof_is_launched(
    study: Nccl, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run([*study.arguments, "--hours", "0.000001"]) == 0
    assert "no time is left to show whether the NCCL settings acted" in " ".join(
        capsys.readouterr().out.split()
    )
    assert study.proofs == []


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (("nccl.proto", "speculative"), ("nccl.proto",)),
        (("env.NCCL_ALGO", "env.OMP_NUM_THREADS"), ("env.NCCL_ALGO",)),
        (("server.enable_nccl_nvls",), ()),
        ((), ()),
    ],
)
def test_the_nccl_keys_of_an_arm(changed: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert nccl_keys(Arm("k", "l", None, changed=changed)) == found  # type: ignore[arg-type]


def test_the_log_is_on_whatever_the_deployment_says() -> None:
    command = ServerCommand(("x",), {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/tmp/x", "NCCL_PROTO": "LL"})
    env = logged(command).env
    assert (env["NCCL_DEBUG"], env["NCCL_DEBUG_FILE"], env["NCCL_PROTO"]) == ("INFO", "", "LL")
    assert {"ENV", "TUNING"} <= set(env["NCCL_DEBUG_SUBSYS"].split(","))


def test_a_proof_sends_a_few_requests_only() -> None:
    plan = short_plan(MeasurePlan((8, 1), 9, 99, 256, greedy_check=5, block_seconds=60, warmup_seconds=9))
    assert (plan.concurrency, plan.blocks, plan.requests_per_block, plan.output_tokens) == ((1,), 1, 1, 16)
    assert (plan.greedy_check, plan.block_seconds, plan.warmup_seconds) == (0, 0.0, 0.0)


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert read_server_log(tmp_path / "none").messages == 0


def proof(role: str, **more: Any) -> dict[str, Any]:
    """A record of the ledger."""
    return {
        "arm": {"label": "proto LL"},
        "role": role,
        "failure": "",
        "message": "",
        "messages": 9,
        "nccl_versions": [],
        "settings": [],
        "choices": [["AllReduce", 8, 2, "Ring LL, 1 channel", 1]],
        "disagreements": [],
        **more,
    }


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (proof("setting", messages=0, choices=[]), "wrote no line of NCCL with its log on"),
        (proof("setting", choices=[]), "No collective ran through NCCL there"),
        (proof("setting", disagreements=["NCCL_PROTO is LL on rank 0"]), "Ranks disagree: NCCL_PROTO is LL"),
        (proof("setting", failure="hang", message="no token", choices=[]), "failed (hang: no token)"),
    ],
)
def test_what_a_proof_comes_to(record: dict[str, Any], words: str) -> None:
    assert words in " ".join(proof_words({"a": record}, "a"))


def test_settings_that_failed_come_first_and_many_are_counted() -> None:
    settings = [
        {"name": f"NCCL_X{number}", "asked": "1", "status": "acted", "why": "y", "failed": False}
        for number in range(20)
    ]
    settings.append({"name": "NCCL_BAD", "asked": "true", "status": "misread", "why": "0", "failed": True})
    (text, *_) = proof_words({"a": proof("setting", settings=settings)}, "a")
    assert "not timed: NCCL_BAD=true was MISREAD (0); NCCL_X0=1 acted" in text
    assert text.endswith("and 9 more.")


def test_nothing_is_said_of_a_winner_without_a_proof() -> None:
    assert proof_words({}, "a") == ()
    assert proof_words({"b": proof("setting")}, "a") == ()
    assert proof_words({"b": proof("setting")}, None) != ()
    assert proof_words({"b": proof("baseline")}, None) == ()
