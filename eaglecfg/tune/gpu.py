"""What NVML says about the GPUs of a launch. Everything here is optional: without NVML there are no GPUs."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglecfg.machine.gpus import (
    MEMORY_CLOCK,
    SM_CLOCK,
    TEMPERATURE,
    THROTTLES,
    memory_of,
    throttle_bits,
)
from eaglecfg.machine.nvml import NoNvml, Nvml, device_of, open_nvml, words_of
from eaglecfg.machine.places import first_line

MIB = 1024 * 1024
SAMPLE_S = 1.0
LOOK_S = 1.0
"""How often a GPU is looked at that has to become empty."""

BARE_MIB = 512.0
"""Memory that an empty GPU may show as used: what a driver keeps, a desktop's screen. An H200 shows 0 to 4
MiB, the context of one CUDA process takes 400 to 600."""

HARMFUL = 0x8 | 0x20 | 0x40 | 0x80
"""Reasons for low clocks that are the machine's fault: slowdowns of the hardware, heat, the power brake. A
power cap is met by every busy GPU."""

OF_THE_SYSTEM = ("nvidia-cuda-mps",)
"""Beginnings of names of processes that hold a GPU for others and compute nothing themselves."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its place among all of the machine, its UUID, and the NVML that knows its handle."""

    index: int
    uuid: str
    handle: Any
    nvml: Nvml


@dataclass(frozen=True, slots=True)
class Held:
    """A process of others on a GPU. ``mib`` None: not told. ``name`` is empty where the process cannot be
    seen from here: in a container the driver's pids are those outside of it."""

    pid: int
    name: str
    mib: float | None

    def __str__(self) -> str:
        amount = "memory" if self.mib is None else f"{self.mib:.0f} MiB"
        return f"{self.name or 'a process out of sight'} (pid {self.pid}) holds {amount}"


def find_gpus(visible: str | None) -> list[Gpu]:
    """The machine's GPUs as a CUDA program counts them under ``visible`` (the value of CUDA_VISIBLE_DEVICES;
    None: not set). Empty without NVML."""
    nvml = open_nvml()
    if isinstance(nvml, NoNvml):
        return []
    found = {index: Gpu(index, uuid, handle, nvml) for index, uuid, handle in nvml.devices()}
    if visible is None:
        return list(found.values())
    devices = [(index, gpu.uuid) for index, gpu in found.items()]
    chosen: list[Gpu] = []
    for word in words_of(visible):
        index = device_of(word, devices)
        if index is None:
            break  # CUDA stops at the first word that names no GPU
        chosen.append(found[index])
    return chosen


def memory_mib(gpus: Sequence[Gpu]) -> dict[str, float]:
    """Used memory in MiB by UUID, of those GPUs that tell it."""
    read = ((gpu.uuid, memory_of(gpu.nvml, gpu.handle)) for gpu in gpus)
    return {uuid: memory[1] / MIB for uuid, memory in read if memory is not None}


def driver_version(gpus: Sequence[Gpu]) -> str:
    """The version of NVIDIA's driver; empty where there are no GPUs."""
    return str(gpus[0].nvml.ask("SystemGetDriverVersion") or "") if gpus else ""


def held_by(gpu: Gpu, proc: Path = Path("/proc")) -> list[Held]:
    """Processes that compute on a GPU, as far as the driver tells."""
    found = []
    for one in gpu.nvml.ask("DeviceGetComputeRunningProcesses", gpu.handle) or ():
        try:
            pid, used = int(one.pid), one.usedGpuMemory
            mib = None if used is None else int(used) / MIB
        except (AttributeError, TypeError, ValueError):
            continue
        name = first_line(proc / str(pid) / "comm")
        if not name.startswith(OF_THE_SYSTEM):
            found.append(Held(pid, name, mib))
    return found


def occupied(gpus: Sequence[Gpu], foreign_mib: float = 0.0) -> list[str]:
    """GPUs that somebody else uses, in words; empty where all are empty.

    ``foreign_mib`` is what processes of others may hold together on each. Nothing of ours may run on them.
    """
    words = []
    memory = memory_mib(gpus)
    for gpu in gpus:
        held, used = held_by(gpu), memory.get(gpu.uuid, 0.0)
        known = sum(one.mib or 0.0 for one in held)
        if held and (known > foreign_mib or not foreign_mib):
            words.append(f"GPU {gpu.index}: {', '.join(map(str, held))}")
        elif used > BARE_MIB + foreign_mib:
            unseen = f"{used - known:.0f} MiB are held by processes that cannot be seen from here"
            words.append(f"GPU {gpu.index}: {unseen}")
    return words


def wait_until_empty(
    gpus: Sequence[Gpu], foreign_mib: float, limit_s: float, tell: Callable[[Sequence[str]], None]
) -> list[str]:
    """Wait until nobody else uses the GPUs; returns what still does at the limit, in words. ``tell`` hears of
    it at every look."""
    deadline = time.monotonic() + limit_s
    while words := occupied(gpus, foreign_mib):
        if time.monotonic() >= deadline:
            return words
        tell(words)
        time.sleep(min(LOOK_S, max(0.01, deadline - time.monotonic())))
    return []


def kept(gpus: Sequence[Gpu], before: Mapping[str, float], tolerance_mib: float) -> list[str]:
    """GPUs that hold more than before, in words. Processes of others that came meanwhile, and that can be
    seen, are not counted."""
    now = memory_mib(gpus)
    words = []
    for gpu in gpus:
        if gpu.uuid not in before or gpu.uuid not in now:
            continue
        more = now[gpu.uuid] - before[gpu.uuid]
        if more > tolerance_mib:
            more -= sum(one.mib or 0.0 for one in held_by(gpu) if one.name)
        if more > tolerance_mib:
            words.append(f"GPU {gpu.index}: {more:.0f} MiB more than before the launch")
    return words


def wait_for_memory(
    gpus: Sequence[Gpu], before: Mapping[str, float], tolerance_mib: float, limit_s: float
) -> list[str]:
    """Wait until no GPU holds more than before; returns those that still do, in words."""
    deadline = time.monotonic() + limit_s
    while True:
        held = kept(gpus, before, tolerance_mib)
        if not held or time.monotonic() > deadline:
            return held
        time.sleep(0.2)


@contextlib.contextmanager
def sampling(gpus: Sequence[Gpu], path: Path) -> Iterator[None]:
    """Write memory, clocks, temperature, power and throttle reasons once a second while the body runs."""
    if not gpus:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_sample, args=(gpus, path, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)


def _sample(gpus: Sequence[Gpu], path: Path, stop: threading.Event) -> None:
    # A full disk ends the launch where it matters; a thread of its own has nobody to tell.
    with contextlib.suppress(OSError), path.open("a", encoding="utf-8") as stream:
        while not stop.wait(SAMPLE_S):
            for gpu in gpus:
                stream.write(json.dumps({"time": time.time(), "uuid": gpu.uuid, **_reading(gpu)}) + "\n")
            stream.flush()


def held_back(path: Path) -> dict[str, float]:
    """Share of the samples of a launch in which clocks were held back, by reason; empty where they were not,
    or where nothing was sampled."""
    counts: dict[str, int] = {}
    samples = 0
    with contextlib.suppress(OSError), path.open(encoding="utf-8") as stream:
        for line in stream:
            with contextlib.suppress(ValueError):  # a full disk tears the last one
                bits = json.loads(line).get("throttle", 0) & HARMFUL
                samples += 1
                for bit, word in THROTTLES.items():
                    if bits & bit:
                        counts[word] = counts.get(word, 0) + 1
    return {word: round(count / samples, 4) for word, count in counts.items()}


def _reading(gpu: Gpu) -> dict[str, float | int]:
    """What this GPU tells; a value that it or its driver does not give is left out."""
    ask, memory = gpu.nvml.ask, memory_of(gpu.nvml, gpu.handle)
    watts, rates = ask("DeviceGetPowerUsage", gpu.handle), ask("DeviceGetUtilizationRates", gpu.handle)
    asked: dict[str, float | int | None] = {
        "memory_mib": memory[1] // MIB if memory is not None else None,
        "sm_mhz": ask("DeviceGetClockInfo", gpu.handle, SM_CLOCK),
        "memory_mhz": ask("DeviceGetClockInfo", gpu.handle, MEMORY_CLOCK),
        "celsius": ask("DeviceGetTemperature", gpu.handle, TEMPERATURE),
        "watts": watts / 1000 if watts is not None else None,
        "throttle": throttle_bits(gpu.nvml, gpu.handle),
        "utilisation": rates.gpu if rates is not None else None,
    }
    return {name: value for name, value in asked.items() if value is not None}
