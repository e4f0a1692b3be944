"""The benchmark's GPUs: nobody else's while it runs, and empty before it begins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eaglecfg.cli.bench_allreduce import _run as run_plan
from eaglecfg.errors import UsageError
from eaglecfg.tune import collective_lease
from eaglecfg.tune.collective_lease import leased
from eaglecfg.tune.leases import Leases
from tests.nccl_bench.conftest import make_plan
from tests.tune.gpus import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(4).install(monkeypatch, tmp_path / "leases")


def test_the_gpus_of_the_ranks_are_leased_while_it_runs(machine: Machine, tmp_path: Path) -> None:
    environ = dict(os.environ)
    study = Leases("night", tmp_path / "leases")
    with leased(make_plan(), environ, print):
        with pytest.raises(
            UsageError, match=r"GPU 1 \(.*\) is leased by the benchmark bench-allreduce \(pid "
        ):
            study.take(machine.gpus()[1:2])
        study.take(machine.gpus()[2:])
    study.take(machine.gpus()[:2])
    study.release()


def test_ranks_take_the_first_that_are_visible(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = collective_lease.gpus_of(make_plan(), {"CUDA_VISIBLE_DEVICES": "3,1,0"})
    assert [gpu.index for gpu in found] == [3, 1]
    assert collective_lease.gpus_of(make_plan(backend="gloo"), {}) == ()


def test_a_leased_gpu_ends_it_before_anything_is_launched_or_written(
    machine: Machine, tmp_path: Path, standin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "raw.jsonl"
    words = r"leased by the study night .*: wait for it, or give this benchmark other GPUs with CUDA_VISIBLE_"
    with Leases("night", tmp_path / "leases") as study:
        study.take(machine.gpus()[:1])
        with pytest.raises(UsageError, match=words):
            run_plan(make_plan(standin), str(raw), "text", "never")
    assert not raw.exists()
    assert run_plan(make_plan(standin, processes=1), str(raw), "text", "never") == 0
    assert raw.exists()
    capsys.readouterr()


def test_a_gpu_that_others_use_is_waited_for(machine: Machine) -> None:
    machine.held[1] = [(os.getpid(), 3000.0)]
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        machine.held.clear()

    with leased(make_plan(), dict(os.environ), tell):
        assert not machine.held
    assert len(told) == 1
    assert told[0].startswith("waiting, as GPU 1: ")
    assert "holds 3000 MiB" in told[0]


def test_a_gpu_that_does_not_become_empty_refuses_the_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collective_lease, "EMPTY_S", 0.0)
    machine.used[0] = 9000.0
    with (
        pytest.raises(UsageError, match=r"GPU 0: 9000 MiB .*choose other GPUs with CUDA_VISIBLE_DEVICES"),
        leased(make_plan(), dict(os.environ), print),
    ):
        pytest.fail("it ran")


def test_where_leases_cannot_be_kept_it_says_so_and_runs(machine: Machine, tmp_path: Path) -> None:
    place = tmp_path / "no-folder"
    place.write_text("", encoding="utf-8")
    told: list[str] = []
    with leased(make_plan(), {"EAGLECFG_LEASES": str(place)}, told.append):
        pass
    assert len(told) == 1
    assert told[0].startswith("note: GPUs cannot be leased on this machine: ")
