"""Where a launch left something behind that could not be ended, nothing more is launched until it is gone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.machine.processes import boot_id
from eaglecfg.tune import quarantine
from eaglecfg.tune import study as study_module
from eaglecfg.tune.ledger import Ledger
from eaglecfg.tune.trial import Limits
from tests.tune.folder import ROOT, SERVER, Folder, wait_for
from tests.tune.gpus import Machine

RUNTIME = """\
import json, subprocess, sys, time
from pathlib import Path
orders = Path(sys.argv[1])
servers = []
while True:
    for order in sorted(orders.glob("*.json")):
        words = json.loads(order.read_text())
        order.unlink()
        servers.append(subprocess.Popen([sys.executable, "-m", "eaglecfg.tune.standin", *words]))
        (orders / "pid").write_text(str(servers[-1].pid))
    time.sleep(0.02)
"""
"""Runs servers for others, as a container runtime does: no server is a child of who ordered it."""

ORDER = """\
import json, os, sys, time
path = os.path.join(sys.argv[1], "order")
with open(path, "w") as stream:
    json.dump(sys.argv[2:], stream)
os.rename(path, path + ".json")
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.study(steps=[4])
    return made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little time is given for things to go by themselves."""
    real = study_module.startup_limits

    def limits(*given: Any, **options: Any) -> Limits:
        return replace(real(*given, **options), stop_s=2.0, term_s=0.2, gpu_wait_s=0.1)

    real_end = quarantine.end_left
    monkeypatch.setattr(study_module, "startup_limits", limits)
    monkeypatch.setattr(study_module, "end_left", lambda data, left=(): real_end(data, left, 0.3))


def rewrite(folder: Folder, change: Callable[[str], str]) -> None:
    path = folder.path / "study.yaml"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def kinds(folder: Folder) -> list[str]:
    return [event.kind for event in folder.events]


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Path]:
    """A folder where servers are ordered."""
    (tmp_path / "orders").mkdir()
    (tmp_path / "order.py").write_text(ORDER, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", RUNTIME, str(tmp_path / "orders")], env={"PYTHONPATH": str(ROOT)}
    )
    yield tmp_path / "orders"
    process.kill()
    process.wait()


@pytest.mark.usefixtures("quick")
def test_a_server_that_its_stop_command_does_not_end_is_not_launched_beside(
    folder: Folder, runtime: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = json.dumps(["{python}", str(folder.path / "order.py"), str(runtime)])
    rewrite(folder, lambda text: text.replace("['{python}', -m, eaglecfg.tune.standin]", words))
    rewrite(folder, lambda text: text.replace("  startup_s", "  stop: ['true']\n  startup_s"))
    assert run(folder.arguments) == 1
    port = next(event.data["port"] for event in folder.events if event.kind == "running")
    error = capsys.readouterr().err
    assert "the study gave up: launch 1 left behind what could not be ended: " in error
    assert f"port {port}. Nothing is launched beside that" in error
    assert kinds(folder)[-3:] == ["ended", "quarantine", "finished"]
    assert folder.events[-3].data["scores"]  # what it had measured stands

    assert run(folder.arguments) == 1
    assert kinds(folder)[-2:] == ["session", "finished"]
    assert kinds(folder).count("launch") == 1
    assert f"port {port}" in capsys.readouterr().err

    subprocess.run(["kill", (runtime / "pid").read_text()], check=True)
    wait_for(lambda: not quarantine.answers(port))
    rewrite(folder, lambda text: text.replace("['true']", f"['sh', '-c', 'kill $(cat {runtime}/pid)']"))
    assert run(folder.arguments) == 0
    assert "what launch 1 had left behind is gone: the study goes on" in capsys.readouterr().out
    assert "cleared" in kinds(folder)
    assert [failure for *_, failure in folder.finished()] == [""] * 4


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Folder) -> Machine:
    server = folder.path / "server.py"
    server.write_text(SERVER, encoding="utf-8")
    rewrite(folder, lambda text: text.replace("-m, eaglecfg.tune.standin", json.dumps(str(server))))
    rewrite(folder, lambda text: text.replace("env: {}", f"env: {json.dumps({'PYTHONPATH': str(ROOT)})}"))
    return Machine().install(monkeypatch, tmp_path / "leases")


@pytest.mark.usefixtures("quick")
def test_gpu_memory_that_does_not_come_back_stops_the_study(
    folder: Folder, machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from eaglecfg.tune.supervision import Supervision

    real = Supervision.stop

    def stop(self: Supervision) -> Mapping[str, Any]:
        event = real(self)
        machine.used[0] = 204.0
        return event

    monkeypatch.setattr(Supervision, "stop", stop)
    assert run(folder.arguments) == 1
    assert "launch 1 left behind what could not be ended: GPU 0: 200 MiB more" in capsys.readouterr().err
    event = next(event for event in folder.events if event.kind == "quarantine")
    assert event.data["launch"]["gpu_mib"] == {"GPU-0a-bc": 4.0}
    assert run(folder.arguments) == 1
    assert kinds(folder).count("launch") == 1
    monkeypatch.setattr(Supervision, "stop", real)
    machine.used[0] = 60.0  # within 64 MiB
    capsys.readouterr()
    assert run(folder.arguments) == 0
    assert "is gone: the study goes on" in capsys.readouterr().out


@pytest.mark.usefixtures("quick")
def test_an_orphan_whose_memory_stays_is_quarantined_until_the_machine_is_booted(
    folder: Folder, machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = {
        "pid": 4194304,
        "identity": f"{boot_id()}:1",
        "marker": "gone-1",
        "started": time.time(),
        "folder": str(folder.path / "nowhere"),
        "port": 1,
        "stop": "group",
        "gpu_mib": {"GPU-0a-bc": 4.0},
    }
    arm = {"key": "k", "label": "4 steps", "values": {}, "changed": []}
    with Ledger(folder.record / "ledger.jsonl") as ledger:
        more = {"phase": "round", "round": 0, "again": "", "conditions": "c", "folder": about["folder"]}
        ledger.append("launch", time.time(), n=1, arm=arm, **more)
        ledger.append("running", time.time(), n=1, **about)
    machine.used[0] = 5000.0
    assert run(folder.arguments) == 1
    assert "launch 1 left behind" in capsys.readouterr().err
    assert kinds(folder) == ["launch", "running", "orphan", "quarantine", "session", "finished"]
    monkeypatch.setattr(quarantine, "boot_id", lambda: "another boot")
    monkeypatch.setattr("eaglecfg.tune.orphans.boot_id", lambda: "another boot")
    machine.used[0] = 4.0
    assert run(folder.arguments) == 0
    assert "what launch 1 had left behind is gone" in capsys.readouterr().out


def test_a_gpu_that_cannot_be_looked_at_any_more_is_not_called_clean(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {
        "pid": 4194304,
        "identity": f"{boot_id()}:1",
        "marker": "gone-2",
        "folder": "",
        "gpu_mib": {"GPU-9": 4.0},
    }
    left = quarantine.end_left(data)
    assert (left.proven, left.leftovers) == (False, ("GPU GPU-9, which cannot be looked at any more",))
