"""What NVML says about the GPUs of a launch. Everything here is optional: without NVML there are no GPUs."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglecfg.machine.gpus import MEMORY_CLOCK, SM_CLOCK, TEMPERATURE, memory_of, throttle_bits
from eaglecfg.machine.nvml import NoNvml, Nvml, open_nvml, visible_indices

MIB = 1024 * 1024
SAMPLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its place among all of the machine, its UUID, and the NVML that knows its handle."""

    index: int
    uuid: str
    handle: Any
    nvml: Nvml


def find_gpus(visible: str | None) -> list[Gpu]:
    """The machine's GPUs, narrowed to ``visible`` (the value of CUDA_VISIBLE_DEVICES). Empty without NVML."""
    nvml = open_nvml()
    if isinstance(nvml, NoNvml):
        return []
    devices = list(nvml.devices())
    left = visible_indices([(index, uuid) for index, uuid, _ in devices], visible)
    return [Gpu(index, uuid, handle, nvml) for index, uuid, handle in devices if index in left]


def memory_mib(gpus: list[Gpu]) -> dict[str, float]:
    """Used memory in MiB by UUID, of those GPUs that tell it."""
    read = ((gpu.uuid, memory_of(gpu.nvml, gpu.handle)) for gpu in gpus)
    return {uuid: memory[1] / MIB for uuid, memory in read if memory is not None}


def wait_for_memory(
    gpus: list[Gpu], before: Mapping[str, float], tolerance_mib: float, limit_s: float
) -> list[str]:
    """Wait until no GPU holds more than before; returns those that still do, in words."""
    deadline = time.monotonic() + limit_s
    while True:
        now = memory_mib(gpus)
        held = [
            f"GPU {gpu.index}: {now[gpu.uuid] - before[gpu.uuid]:.0f} MiB more than before the launch"
            for gpu in gpus
            if gpu.uuid in before and gpu.uuid in now and now[gpu.uuid] - before[gpu.uuid] > tolerance_mib
        ]
        if not held or time.monotonic() > deadline:
            return held
        time.sleep(0.2)


@contextlib.contextmanager
def sampling(gpus: list[Gpu], path: Path) -> Iterator[None]:
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


def _sample(gpus: list[Gpu], path: Path, stop: threading.Event) -> None:
    with path.open("a", encoding="utf-8") as stream:
        while not stop.wait(SAMPLE_S):
            for gpu in gpus:
                stream.write(json.dumps({"time": time.time(), "uuid": gpu.uuid, **_reading(gpu)}) + "\n")
            stream.flush()


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
