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

MIB = 1024 * 1024
SAMPLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its place among all of the machine, its UUID, and NVML's handle."""

    index: int
    uuid: str
    handle: Any


def find_gpus(visible: str | None) -> list[Gpu]:
    """The machine's GPUs, narrowed to ``visible`` (the value of CUDA_VISIBLE_DEVICES). Empty without NVML."""
    try:
        import pynvml

        pynvml.nvmlInit()
        found = []
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uuid = pynvml.nvmlDeviceGetUUID(handle)
            found.append(Gpu(index, uuid.decode() if isinstance(uuid, bytes) else uuid, handle))
    except Exception:  # no package, no driver, no permission: NVML has many errors and all mean the same here
        return []
    if visible is None:
        return found
    words = [word.strip() for word in visible.split(",") if word.strip()]
    return [gpu for gpu in found if any(w == str(gpu.index) or gpu.uuid.startswith(w) for w in words)]


def memory_mib(gpus: list[Gpu]) -> dict[str, float]:
    """Used memory in MiB by UUID."""
    if not gpus:
        return {}
    import pynvml

    return {gpu.uuid: pynvml.nvmlDeviceGetMemoryInfo(gpu.handle).used / MIB for gpu in gpus}


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
            if now[gpu.uuid] - before[gpu.uuid] > tolerance_mib
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
    import pynvml

    asked: dict[str, Any] = {
        "memory_mib": lambda: pynvml.nvmlDeviceGetMemoryInfo(gpu.handle).used // MIB,
        "sm_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(gpu.handle, pynvml.NVML_CLOCK_SM),
        "memory_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(gpu.handle, pynvml.NVML_CLOCK_MEM),
        "celsius": lambda: pynvml.nvmlDeviceGetTemperature(gpu.handle, pynvml.NVML_TEMPERATURE_GPU),
        "watts": lambda: pynvml.nvmlDeviceGetPowerUsage(gpu.handle) / 1000,
        "throttle": lambda: pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu.handle),
        "utilisation": lambda: pynvml.nvmlDeviceGetUtilizationRates(gpu.handle).gpu,
    }
    reading: dict[str, float | int] = {}
    for name, ask in asked.items():
        with contextlib.suppress(Exception):  # a value that this GPU or driver does not give is left out
            reading[name] = ask()
    return reading
