"""NVML's answers for studies: two H200 on which a test may put the processes of others."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eaglecfg.tune.gpu import Gpu, find_gpus
from tests.machine.library import Library, h200
from tests.tune.folder import Folder


def folder_with_gpus(path: Path, steps: Sequence[int] = (4,)) -> Folder:
    """A study whose servers are taken to use GPUs."""
    path.mkdir()
    made = Folder(path)
    made.study(steps=steps)
    made.name_an_engine()
    return made


class Machine:
    """``held[index]`` are (pid, MiB) of processes, ``used[index]`` MiB in use beside them."""

    def __init__(self, count: int = 2) -> None:
        self.held: dict[int, list[tuple[int, float | None]]] = {}
        self.used: dict[int, float] = {}
        self.answers = h200(
            count,
            Init=None,
            DeviceGetComputeRunningProcesses=self.processes,
            DeviceGetMemoryInfo=self.memory,
        )

    def processes(self, handle: int) -> list[Any]:
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=None if mib is None else int(mib * (1 << 20)))
            for pid, mib in self.held.get(handle, ())
        ]

    def memory(self, handle: int, *_: Any) -> Any:
        mib = self.used.get(handle, 4.0) + sum(mib or 0.0 for _, mib in self.held.get(handle, ()))
        return SimpleNamespace(total=143771 << 20, used=int(mib * (1 << 20)))

    def install(self, monkeypatch: pytest.MonkeyPatch, leases: Path) -> Machine:
        """Make it the NVML of this process, with a folder of leases of its own."""
        monkeypatch.setitem(sys.modules, "pynvml", Library(self.answers))  # type: ignore[arg-type]
        monkeypatch.setenv("EAGLECFG_LEASES", str(leases))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        return self

    def gpus(self, visible: str | None = None) -> list[Gpu]:
        return find_gpus(visible)
