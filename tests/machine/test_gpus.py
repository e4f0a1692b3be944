"""GPUs are read as far as they tell, and nothing that one of them refuses costs the rest."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eaglecfg.machine.gpus import Holder, read_gpus
from eaglecfg.machine.links import read_links
from eaglecfg.machine.nvml import NoNvml, Nvml, open_nvml, visible_indices
from eaglecfg.machine.places import Places
from tests.machine.library import NotSupported, h200, nvml

NEEDED = {"DeviceGetCount", "DeviceGetHandleByIndex"}


def test_an_idle_h200_is_read_whole(tmp_path: Path) -> None:
    device = tmp_path / "bus/pci/devices/0000:10:00.0"
    device.mkdir(parents=True)
    (device / "numa_node").write_text("1\n")
    first, second = read_gpus(nvml(h200(2)), None, Places(sys=tmp_path))
    assert (first.index, first.name, first.uuid, first.bus) == (0, "NVIDIA H200", "GPU-0a-bc", "0000:10:00.0")
    assert (first.capability, first.memory_total_bytes) == ("9.0", 143771 << 20)
    assert (first.power_limit_watts, first.power_watts) == (700.0, 76.1)
    assert (first.ecc, first.mig, first.persistence, first.fabric) == (True, False, True, "ready")
    assert first.throttled == ()
    assert (first.numa_node, second.numa_node) == (1, None)


@pytest.mark.parametrize("name", sorted(set(h200()) - NEEDED))
@pytest.mark.parametrize("answer", [NotSupported(), None, "?", (), -1], ids=repr)
def test_whatever_one_question_comes_to_the_rest_is_read(name: str, answer: Any) -> None:
    library = nvml(h200(2, **{name: answer}))
    gpus = read_gpus(library, None, Places())
    assert [gpu.index for gpu in gpus] == [0, 1]
    links = read_links(library, gpus)
    assert len(links.pairs) == 1
    if name != "DeviceGetName":
        assert gpus[0].name == "NVIDIA H200"


def test_a_gpu_that_has_fallen_off_the_bus_leaves_the_others() -> None:
    def handle(index: int) -> int:
        if index == 1:
            raise NotSupported
        return index

    assert [gpu.index for gpu in read_gpus(nvml(h200(3, DeviceGetHandleByIndex=handle)), None, Places())] == [
        0,
        2,
    ]


def test_throttle_reasons_have_names_under_both_names_of_the_function() -> None:
    answers = h200(1, DeviceGetCurrentClocksThrottleReasons=0x1 | 0x20 | 0x40)
    del answers["DeviceGetCurrentClocksEventReasons"]
    gpu = read_gpus(nvml(answers), None, Places())[0]
    assert gpu.throttled == ("software thermal slowdown", "hardware thermal slowdown")


def test_holders_carry_the_name_of_their_process_where_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "41").mkdir()
    (tmp_path / "41/comm").write_text("python3\n")
    held = [SimpleNamespace(pid=41, usedGpuMemory=1 << 30), SimpleNamespace(pid=42, usedGpuMemory=None)]
    gpu = read_gpus(nvml(h200(1, DeviceGetComputeRunningProcesses=held)), None, Places(proc=tmp_path))[0]
    assert gpu.processes == (Holder(41, 1 << 30, "python3"), Holder(42, None, ""))


DEVICES = [(0, "GPU-0a-bc"), (1, "GPU-1a-bc"), (2, "GPU-2a-bc")]


@pytest.mark.parametrize(
    ("visible", "left"),
    [
        (None, {0, 1, 2}),
        ("", set()),
        ("0,2", {0, 2}),
        (" 1 , 0 ", {0, 1}),
        ("GPU-2a", {2}),
        ("GPU-9", set()),
        ("0,9,1", {0}),
        ("0,-1,1", {0}),
        ("-1", set()),
        ("none", set()),
    ],
)
def test_visible_gpus_follow_cudas_rule(visible: str | None, left: set[int]) -> None:
    assert visible_indices(DEVICES, visible) == left


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found = open_nvml()
    assert isinstance(found, NoNvml)
    assert found.help == "pip install 'eaglecfg[tune]'"


def test_another_package_of_the_name_is_no_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("raise RuntimeError('deprecated')\n")
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    found = open_nvml()
    assert isinstance(found, NoNvml)
    assert "deprecated" in found.why
    (tmp_path / "pynvml.py").write_text("")
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    assert isinstance(open_nvml(), NoNvml)
    sys.modules.pop("pynvml", None)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("NVMLError_LibraryNotFound", "libnvidia-ml.so.1"),
        ("NVMLError_DriverNotLoaded", "not loaded"),
        ("NVMLError_LibRmVersionMismatch", "different versions"),
        ("NVMLError_Unknown", "NVML does not start: x"),
    ],
)
def test_each_way_in_which_nvml_stays_closed_has_words(
    monkeypatch: pytest.MonkeyPatch, kind: str, says: str
) -> None:
    def refuse() -> None:
        raise type(kind, (Exception,), {})("x")

    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace(nvmlInit=refuse))
    found = open_nvml()
    assert isinstance(found, NoNvml)
    assert says in found.why
    assert found.help


def test_opening_nvml_gives_it_or_says_why_not_and_what_to_do() -> None:
    found = open_nvml()
    if isinstance(found, NoNvml):
        assert found.why
        assert found.help
    else:
        assert isinstance(found, Nvml)
