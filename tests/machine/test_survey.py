"""The whole look: what was seen, what was not, and that no part costs another."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.machine.nvml import NoNvml, Nvml
from eaglecfg.machine.places import Places
from eaglecfg.machine.survey import Machine, survey
from tests.machine.library import h200, nvml
from tests.machine.test_python import write_torch

ABSENT = NoNvml("there is none", "install it")


def look(root: Path, given: Nvml | NoNvml = ABSENT, **environ: str) -> Machine:
    places = Places(root / "proc", root / "sys", root / "etc", root / "shm", root, root)
    return survey(given, sys.executable, {"PATH": "", **environ}, places, os.getpid())


def unseen(machine: Machine) -> dict[str, str]:
    return {one.what: one.why for one in machine.unseen}


def test_an_empty_system_is_told_piece_by_piece(tmp_path: Path) -> None:
    machine = look(tmp_path)
    told = unseen(machine)
    assert told["GPUs and their links"] == "there is none"
    assert "shared memory" in told
    assert "ports" in told
    assert machine.gpus == ()
    assert machine.python.version


def test_the_kernel_driver_is_seen_without_nvml(tmp_path: Path) -> None:
    folder = tmp_path / "proc/driver/nvidia"
    (folder / "gpus/0000:10:00.0").mkdir(parents=True)
    (folder / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\nGCC version: 12\n"
    )
    machine = look(tmp_path)
    assert machine.driver == "580.159.04"
    assert unseen(machine)["GPUs and their links"] == "there is none; the kernel driver lists 1 GPU"


def test_gpus_and_their_driver_are_seen(tmp_path: Path) -> None:
    machine = look(tmp_path, nvml(h200(2)), CUDA_VISIBLE_DEVICES="1")
    assert (machine.driver, machine.cuda_driver) == ("580.159.04", "13.0")
    assert [gpu.index for gpu in machine.visible_gpus] == [1]
    assert machine.links is not None
    assert machine.links.topology == "single"
    assert "GPUs and their links" not in unseen(machine)


def test_nvml_without_a_gpu_is_told(tmp_path: Path) -> None:
    assert "shows no GPU" in unseen(look(tmp_path, nvml(h200(0))))["GPUs and their links"]


def test_links_that_are_not_told_are_not_seen(tmp_path: Path) -> None:
    answers = h200(2)
    for name in ("DeviceGetNvLinkState", "DeviceGetP2PStatus"):
        del answers[name]
    assert "GPU 0 and GPU 1" in unseen(look(tmp_path, nvml(answers)))["topology"]


def test_the_facts_about_the_engine_are_looked_up(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for version, standing in (("0.5.14", "known"), ("0.9.1", "newer"), ("0.5.14.dev3+g12", "development")):
        (site / "sglang").mkdir(parents=True, exist_ok=True)
        (site / "sglang/__init__.py").touch()
        (site / "sglang/_version.py").write_text(f"__version__ = version = {version!r}\n")
        engine = look(tmp_path, PYTHONPATH=str(site)).engine
        assert engine is not None
        assert (engine.version, engine.standing) == (version, standing)


def test_nccl_that_is_linked_in_is_not_seen_and_says_what_to_declare(tmp_path: Path) -> None:
    write_torch(tmp_path / "site", needed=())
    found = [one for one in look(tmp_path, PYTHONPATH=str(tmp_path / "site")).unseen if "NCCL" in one.what]
    assert [(one.why, one.help) for one in found] == [
        ("it is linked into torch", "declare hardware.nccl_version")
    ]


@pytest.mark.parametrize("text", ["x\0y (a b", "7 (x) S a b c " + "z " * 30, ""])
def test_a_part_that_fails_is_not_seen_and_the_rest_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/stat").write_text(text)
    (tmp_path / "proc/net").mkdir()
    (tmp_path / "proc/net/tcp").write_text("  sl\n  0: 0:zz 0 0A 0 0 0 0 0 0 0\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 64 kB\n")
    machine = look(tmp_path, nvml(h200(1)))
    assert machine.host.memory_bytes == 65536
    assert len(machine.gpus) == 1
    assert machine.ports is None


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nccl.conf").write_text("NCCL_PROTO=LL\n")

    def state() -> dict[str, Any]:
        return {str(path): path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}

    before = state()
    look(tmp_path, nvml(h200(2)))
    assert state() == before
