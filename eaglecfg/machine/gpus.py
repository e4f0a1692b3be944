"""The GPUs of this machine, as NVML shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from eaglecfg.machine.nvml import Nvml, visible_indices
from eaglecfg.machine.places import Places, first_line
from eaglecfg.record import record

THROTTLES = {
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clocks",
}
"""Bits of the reasons for which clocks are below what they could be, without idleness (0x1); nvml.h."""

UNCORRECTED, VOLATILE = 1, 0
SM_CLOCK, MEMORY_CLOCK, TEMPERATURE = 1, 2, 0
"""NVML's numbers for clocks, kinds of errors and sensors."""


@record
class Holder:
    """A process that holds GPU memory, under the pid that the driver gives. ``bytes`` None: not told.

    ``name`` is empty where this system shows no such process: it runs in another container, or the driver
    counts pids from outside of this one.
    """

    pid: int
    bytes: int | None
    name: str


@record
class Gpu:
    """One GPU. Numbers are None where the GPU or its driver does not tell them.

    ``visible``: CUDA_VISIBLE_DEVICES does not hide it. ``throttled`` are the reasons now.
    ``ecc_uncorrected``: errors since the driver was loaded. ``rows_pending``: memory rows wait for a reset to
    be replaced.
    """

    index: int
    uuid: str
    name: str
    visible: bool
    bus: str
    capability: str | None
    memory_total_bytes: int | None
    memory_used_bytes: int | None
    processes: tuple[Holder, ...] | None
    power_limit_watts: float | None
    power_default_watts: float | None
    power_watts: float | None
    sm_clock_mhz: int | None
    sm_clock_max_mhz: int | None
    celsius: int | None
    utilisation_percent: int | None
    throttled: tuple[str, ...] | None
    ecc: bool | None
    ecc_uncorrected: int | None
    rows_pending: bool | None
    rows_failed: bool | None
    mig: bool | None
    persistence: bool | None
    compute_mode: str | None
    pcie_width: int | None
    pcie_width_max: int | None
    numa_node: int | None
    fabric: str | None


def read_gpus(nvml: Nvml, visible: str | None, places: Places) -> tuple[Gpu, ...]:
    """Every GPU that can be reached. ``visible`` is the value of CUDA_VISIBLE_DEVICES."""
    devices = list(nvml.devices())
    left = visible_indices([(index, uuid) for index, uuid, _ in devices], visible)
    return tuple(_read(nvml, index, uuid, handle, index in left, places) for index, uuid, handle in devices)


def _read(nvml: Nvml, index: int, uuid: str, handle: Any, visible: bool, places: Places) -> Gpu:
    def ask(function: str, *given: Any) -> Any:
        return nvml.ask(f"DeviceGet{function}", handle, *given)

    memory = memory_of(nvml, handle)
    capability, ecc, mig = ask("CudaComputeCapability"), ask("EccMode"), ask("MigMode")
    bus = bus_of(ask("PciInfo"))
    rows, reasons = ask("RemappedRows"), throttle_bits(nvml, handle)
    return Gpu(
        index=index,
        uuid=uuid,
        name=str(ask("Name") or ""),
        visible=visible,
        bus=bus,
        capability=_maybe(capability, lambda pair: f"{pair[0]}.{pair[1]}"),
        memory_total_bytes=memory[0] if memory else None,
        memory_used_bytes=memory[1] if memory else None,
        processes=_maybe(ask("ComputeRunningProcesses"), lambda found: _holders(found, places)),
        power_limit_watts=_maybe(ask("PowerManagementLimit"), _watts),
        power_default_watts=_maybe(ask("PowerManagementDefaultLimit"), _watts),
        power_watts=_maybe(ask("PowerUsage"), _watts),
        sm_clock_mhz=_maybe(ask("ClockInfo", SM_CLOCK), int),
        sm_clock_max_mhz=_maybe(ask("MaxClockInfo", SM_CLOCK), int),
        celsius=_maybe(ask("Temperature", TEMPERATURE), int),
        utilisation_percent=_maybe(ask("UtilizationRates"), lambda rates: int(rates.gpu)),
        throttled=_maybe(reasons, lambda bits: tuple(word for bit, word in THROTTLES.items() if bits & bit)),
        ecc=_maybe(ecc, lambda pair: bool(pair[0])),
        ecc_uncorrected=_maybe(ask("TotalEccErrors", UNCORRECTED, VOLATILE), int),
        rows_pending=_maybe(rows, lambda four: bool(four[2])),
        rows_failed=_maybe(rows, lambda four: bool(four[3])),
        mig=_maybe(mig, lambda pair: bool(pair[0])),
        persistence=_maybe(ask("PersistenceMode"), bool),
        compute_mode=_maybe(ask("ComputeMode"), _compute_mode),
        pcie_width=_maybe(ask("CurrPcieLinkWidth"), int),
        pcie_width_max=_maybe(ask("MaxPcieLinkWidth"), int),
        numa_node=_numa_node(places.sys, bus),
        fabric=_fabric(nvml, handle),
    )


def memory_of(nvml: Nvml, handle: Any) -> tuple[int, int] | None:
    """(total, used) bytes. Used is without what the driver keeps for itself, where it says how much."""
    version = nvml.constant("nvmlMemory_v2")
    memory = nvml.ask("DeviceGetMemoryInfo", handle, version) if version else None
    if memory is None:
        memory = nvml.ask("DeviceGetMemoryInfo", handle)
    found: tuple[int, int] | None = _maybe(memory, lambda given: (int(given.total), int(given.used)))
    return found


def throttle_bits(nvml: Nvml, handle: Any) -> int | None:
    """The reasons for low clocks as NVML's bits; their function changed its name."""
    bits = nvml.ask("DeviceGetCurrentClocksEventReasons", handle)
    if bits is None:
        bits = nvml.ask("DeviceGetCurrentClocksThrottleReasons", handle)
    return bits if isinstance(bits, int) else None


def bus_of(pci: Any) -> str:
    """``0000:18:00.0`` of what NVML says about a PCI device; empty where it says nothing."""
    text = getattr(pci, "busId", "")
    text = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    return text.strip("\0").lower()[-12:]


def _maybe(value: Any, of: Callable[[Any], Any]) -> Any:
    """``of(value)``, None without a value or where it has another form than this NVML should give."""
    try:
        return None if value is None else of(value)
    except (TypeError, ValueError, AttributeError, LookupError):
        return None


def _numa_node(system: Path, bus: str) -> int | None:
    text = first_line(system / "bus/pci/devices" / bus / "numa_node") if bus else ""
    return int(text) if text.isdecimal() else None  # -1: the machine has none


def _watts(milliwatts: Any) -> float:
    return round(float(milliwatts) / 1000, 1)


def _holders(found: Any, places: Places) -> tuple[Holder, ...]:
    return tuple(
        Holder(
            int(one.pid), _maybe(one.usedGpuMemory, int), first_line(places.proc / str(int(one.pid)) / "comm")
        )
        for one in found
    )


def _compute_mode(number: int) -> str:
    return {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}.get(number, "")


def _fabric(nvml: Nvml, handle: Any) -> str | None:
    """State of the NVLink fabric: ``ready``, ``not started``, ``in progress``, ``failed``; None where the GPU
    is in none."""
    make, refer = nvml.constant("c_nvmlGpuFabricInfo_t"), nvml.constant("byref")
    if make is None or refer is None:
        return None
    info = make()
    if nvml.ask("DeviceGetGpuFabricInfo", handle, refer(info)) is None:
        return None
    if info.state == 3:
        return "ready" if info.status == 0 else "failed"
    return {1: "not started", 2: "in progress"}.get(info.state)
