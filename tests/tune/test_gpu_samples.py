"""What the GPUs do while a server runs is kept, once a second."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.machine.gpus import THROTTLES
from eaglecfg.tune import gpu
from tests.tune.gpus import Machine, folder_with_gpus


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine().install(monkeypatch, tmp_path / "leases")


def rows_of(path: Path) -> list[dict[str, float | str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_memory_clocks_temperature_power_and_throttling_are_sampled_once_a_second(
    machine: Machine, tmp_path: Path
) -> None:
    machine.used[1] = 1000.0
    machine.answers["DeviceGetClockInfo"] = lambda handle, kind: {1: 1755, 2: 3201}[kind]
    machine.answers["DeviceGetCurrentClocksEventReasons"] = lambda handle: 0x40 if handle else 0
    machine.answers["DeviceGetUtilizationRates"] = SimpleNamespace(gpu=97)
    path = tmp_path / "gpu.jsonl"
    with gpu.sampling(machine.gpus(), path):
        time.sleep(2.4)
    rows = rows_of(path)
    times = [float(row.pop("time")) for row in rows]
    first, second = rows[:2]
    assert first == {
        "uuid": "GPU-0a-bc",
        "memory_mib": 4,
        "sm_mhz": 1755,
        "memory_mhz": 3201,
        "celsius": 29,
        "watts": 76.123,
        "throttle": 0,
        "utilisation": 97,
    }
    assert (second["uuid"], second["memory_mib"], second["throttle"]) == ("GPU-1a-bc", 1000, 0x40)
    assert len(rows) == 4
    (step,) = [later - before for before, later in itertools.pairwise(times[::2])]
    assert step == pytest.approx(1.0, abs=0.3)


def test_what_a_gpu_does_not_tell_is_left_out_and_the_launch_goes_on(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "SAMPLE_S", 0.02)
    for name in ("DeviceGetPowerUsage", "DeviceGetCurrentClocksEventReasons", "DeviceGetUtilizationRates"):
        machine.answers.pop(name)
    machine.answers["DeviceGetTemperature"] = RuntimeError("GPU is lost")
    path = tmp_path / "gpu.jsonl"
    with gpu.sampling(machine.gpus(), path):
        time.sleep(0.2)
    assert set(rows_of(path)[0]) == {"time", "uuid", "memory_mib", "sm_mhz", "memory_mhz"}


def test_a_gpu_that_was_held_back_is_told_of_in_the_result(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "SAMPLE_S", 0.02)
    machine.answers["DeviceGetCurrentClocksEventReasons"] = lambda handle: 0x40 | 0x4
    folder = folder_with_gpus(tmp_path / "study")
    assert run(folder.arguments) == 0
    ended = [event.data for event in folder.events if event.kind == "ended"]
    assert [data["held_back"] for data in ended] == [{"hardware thermal slowdown": 1.0}] * 5
    said = "In 4 of 4 launches a GPU was held back (hardware thermal slowdown, in up to 100% of a launch's"
    assert said in " ".join(capsys.readouterr().out.split())
    assert said in (folder.record / "result.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["{}", '{"throttle": 1}', '{"throttle": 4}'], {}),  # idle, or at its power cap
        (['{"throttle": 8}', '{"throttle": 0}', '{"throttle": 160}', "{}"], [8, 32, 128]),
        (['{"throttle": 8}', '{"thro'], {"hardware slowdown": 1.0}),
        ([], {}),
    ],
)
def test_what_counts_as_held_back(lines: list[str], expected: Any, tmp_path: Path) -> None:
    path = tmp_path / "gpu.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    if isinstance(expected, list):
        expected = {THROTTLES[bit]: 0.25 for bit in expected}
    assert gpu.held_back(path) == expected
    assert gpu.held_back(tmp_path / "none") == {}


def test_a_full_disk_is_no_traceback(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SAMPLE_S", 0.02)
    with gpu.sampling(machine.gpus(), Path("/dev/full")):
        time.sleep(0.1)


def test_without_gpus_nothing_is_written(tmp_path: Path) -> None:
    with gpu.sampling([], tmp_path / "gpu.jsonl"):
        pass
    assert not (tmp_path / "gpu.jsonl").exists()
