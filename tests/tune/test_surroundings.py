"""Launches on other GPUs, under other variables or by another version of the engine are not compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.tune.history import fold
from eaglecfg.tune.ledger import Event
from eaglecfg.tune.surroundings import acting, comparable, place_changes, recorded
from tests.tune.folder import ROOT, SERVER, Folder
from tests.tune.gpus import Machine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    (tmp_path / "study").mkdir()
    made = Folder(tmp_path / "study")
    made.study(steps=[4])
    for name in ("NCCL_PROTO", "HF_HOME", "NCCL_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return made


def checked(folder: Folder) -> int:
    """Launch the baseline twice, unless that has been done; the exit code."""
    return run(["tune", "check", str(folder.path / "study.yaml"), "--launch-anyway", "--launches", "2"])


def flat(text: str) -> str:
    return " ".join(text.split())


def test_what_acts_and_what_is_kept_of_the_environment() -> None:
    environ = {
        "NCCL_PROTO": "LL",
        "CUDA_VISIBLE_DEVICES": "1",
        "HF_TOKEN": "hf_abcdefghijklmnopqrst",
        "HF_HOME": "/cache",
        "https_proxy": "http://me:secret@proxy:3128",
        "LD_PRELOAD": "x.so",
        "HOME": "/root",
        "SGLANG_API_KEY": "k",
    }
    assert acting(environ) == {"LD_PRELOAD": "x.so", "NCCL_PROTO": "LL", "SGLANG_API_KEY": "<redacted>"}
    kept = recorded(environ)
    assert kept["https_proxy"] == "http://me:<redacted>@proxy:3128"
    assert kept["HF_TOKEN"] == "<redacted>"
    assert kept["CUDA_VISIBLE_DEVICES"] == "1"
    assert "HOME" not in kept


@pytest.mark.parametrize(
    "name",
    [
        "TRTLLM_ENABLE_PDL",
        "DG_JIT_USE_NVRTC",
        "NVSHMEM_IB_ENABLE_IBGDA",
        "MC_FORCE_TCP",
        "NVIDIA_TF32_OVERRIDE",
        "USE_TRITON_W8A8_FP8_KERNEL",
        "HSA_NO_SCRATCH_RECLAIM",
    ],
)
def test_variables_of_what_an_engine_is_built_on_act_as_well(name: str) -> None:
    assert acting({name: "1"}) == recorded({name: "1"}) == {name: "1"}


def place(*gpus: str, host: str = "", **variables: str) -> dict[str, Any]:
    return {"gpus": list(gpus), "host": host, "variables": variables}


@pytest.mark.parametrize(
    ("before", "now", "used", "same"),
    [
        (place("A", "B"), place("A", "B"), ["A"], True),
        (place("A", "B"), place("B", "A"), ["A"], False),
        (place("A", "B"), place("B", "A"), [], False),
        (place("A", "B"), place("A"), ["A"], True),
        (place("A"), place("A", "B", "C"), ["A"], True),
        (place("A", "B"), place("A", "C"), ["A"], True),
        (place("A", "B"), place("A", "C"), ["A", "B"], False),
        (place("A", "B", "C"), place("A", "B"), ["C"], False),
        (place("A"), place(host="cpu"), [], False),
        (place(host="one"), place(host="two"), [], False),
        (place("A", NCCL_PROTO="LL"), place("A"), ["A"], False),
        (None, place("A"), ["B"], True),
        (place("A"), None, [], True),
    ],
)
def test_which_launches_may_be_compared(before: Any, now: Any, used: list[str], same: bool) -> None:
    assert comparable(before, now, used) is same


def test_changes_of_a_place_in_words() -> None:
    words = place_changes(place("A", NCCL_PROTO="LL"), place("B", "C", NCCL_ALGO="x" * 60))
    assert words == [
        "the GPUs (were A, are B, C)",
        f"NCCL_ALGO (unset, now {'x' * 37}...)",
        "NCCL_PROTO (LL, now unset)",
    ]


def test_every_launch_and_session_keeps_what_was_around_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnopqrst")
    assert checked(folder) == 0
    for path in (folder.record / "launches").glob("*/command.json"):
        kept = json.loads(path.read_text())["environment"]
        assert (kept["NCCL_DEBUG"], kept["HF_TOKEN"]) == ("WARN", "<redacted>")
    session = folder.events[0].data
    assert session["place"]["variables"]["NCCL_DEBUG"] == "WARN"
    assert session["environment"]["HF_TOKEN"] == "<redacted>"
    assert "hf_abc" not in (folder.record / "ledger.jsonl").read_text()
    ended = next(event.data for event in folder.events if event.kind == "ended")
    assert ended["engine_version"] == "0.5.14"


def test_a_variable_that_acts_sets_launches_aside_until_it_is_as_before(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(folder) == 0
    monkeypatch.setenv("NCCL_PROTO", "LL")
    capsys.readouterr()
    assert checked(folder) == 0
    out = flat(capsys.readouterr().out)
    assert "earlier launches are set aside: NCCL_PROTO (unset, now LL) changed since" in out
    assert len(folder.finished()) == 4
    history = fold(folder.events, folder.events[0].data["conditions"])
    assert (len(history.checks), history.aside) == (2, 2)
    monkeypatch.delenv("NCCL_PROTO")
    assert checked(folder) == 0
    assert len(folder.finished()) == 4


def test_a_variable_that_does_not_act_is_told_and_launches_count(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(folder) == 0
    monkeypatch.setenv("HF_HOME", "/elsewhere")
    capsys.readouterr()
    assert checked(folder) == 0
    out = flat(capsys.readouterr().out)
    assert (
        "changed since the last session, while earlier launches count: HF_HOME (unset, now /elsewhere)" in out
    )
    assert len(folder.finished()) == 2


def test_launches_on_another_gpu_are_set_aside(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine().install(monkeypatch, tmp_path / "leases")
    server, study = folder.path / "server.py", folder.path / "study.yaml"
    server.write_text(SERVER, encoding="utf-8")
    text = study.read_text(encoding="utf-8").replace("-m, eaglecfg.tune.standin", json.dumps(str(server)))
    study.write_text(
        text.replace("env: {}", f"env: {json.dumps({'PYTHONPATH': str(ROOT)})}"), encoding="utf-8"
    )
    assert checked(folder) == 0
    assert folder.events[0].data["place"]["gpus"] == ["GPU-0a-bc", "GPU-1a-bc"]
    assert folder.events[0].data["driver"] == "580.159.04"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    machine.answers["SystemGetDriverVersion"] = b"590.1"
    capsys.readouterr()
    assert checked(folder) == 0
    out = flat(capsys.readouterr().out)
    assert len(folder.finished()) == 2  # they ran on GPU 0, which it still is
    assert "while earlier launches count: NVIDIA's driver (580.159.04, now 590.1)" in out
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert checked(folder) == 0
    out = flat(capsys.readouterr().out)
    assert "set aside: the GPUs (were GPU-0a-bc, are GPU-1a-bc) changed since" in out
    assert len(folder.finished()) == 4
    # A look from a shell that sees no GPU tells of where the study ran last.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert run(["tune", "report", str(study)]) == 1
    assert "machine check: 2 fresh launches" in capsys.readouterr().out


def events_of(*versions: str) -> list[Event]:
    """Launches by an engine of these versions, in order."""
    out: list[Event] = []
    arm = {"key": "a", "label": "a", "values": {}, "changed": []}
    base = {"failure": "", "message": "", "lines": [], "scores": {"1": 1.0}, "counters": {}, "startup_s": 1.0}
    base |= {"seconds": 1.0, "agreement": None, "rewritten": {}, "limits": [], "ran": "a", "ran_arm": None}
    for number, version in enumerate(versions, 1):
        asked = {"n": number, "arm": arm, "phase": "round", "round": number, "conditions": "c", "folder": ""}
        out.append(Event(2 * number - 1, "launch", 0.0, asked))
        out.append(Event(2 * number, "ended", 0.0, {**base, "n": number, "engine_version": version}))
    return out


def test_launches_of_another_version_of_the_engine_are_set_aside() -> None:
    history = fold(events_of("0.5.14", "0.5.14", "", "0.5.15", "0.5.15"), "c")
    assert [item.n for item in history.launches] == [3, 4, 5]
    assert history.aside == 2
    history = fold(events_of("0.5.14", "0.5.15", "0.5.14"), "c")
    assert [item.n for item in history.launches] == [1, 3]


def test_a_ledger_from_before_places_were_kept_counts(folder: Folder) -> None:
    assert checked(folder) == 0
    old = [
        Event(event.seq, event.kind, event.at, {k: v for k, v in event.data.items() if k != "place"})
        for event in folder.events
    ]
    conditions = folder.events[0].data["conditions"]
    assert len(fold(old, conditions).checks) == 2
    assert len(fold(old, conditions, place("X")).checks) == 2
