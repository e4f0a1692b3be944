"""A library with NVML's functions whose answers stand in a table; whatever is not there is not supported."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from eaglecfg.machine.nvml import Nvml


class NotSupported(Exception):
    """What NVML raises for most questions on most GPUs."""


class Fabric(ctypes.Structure):
    """The record that a question about the fabric fills."""

    _fields_ = (("status", ctypes.c_uint), ("state", ctypes.c_uint))


class Library:
    """``answers``: function without ``nvml`` -> a value, or a function of the arguments."""

    nvmlMemory_v2 = 33554472
    c_nvmlGpuFabricInfo_t = Fabric

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    @staticmethod
    def byref(record: Any) -> Any:
        return record

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvml") or name.removeprefix("nvml") not in self._answers:
            raise AttributeError(name)

        def answer(*given: Any) -> Any:
            value = self._answers[name.removeprefix("nvml")]
            if isinstance(value, Exception):
                raise value
            return value(*given) if callable(value) else value

        return answer


def bus(index: int) -> SimpleNamespace:
    """What NVML says about the PCI place of GPU ``index``."""
    return SimpleNamespace(busId=f"00000000:1{index:X}:00.0".encode())


def h200(count: int = 2, **changes: Any) -> dict[str, Any]:
    """The answers of a host with ``count`` H200 on an NVSwitch board, idle."""
    answers: dict[str, Any] = {
        "DeviceGetCount": count,
        "DeviceGetHandleByIndex": lambda index: index,
        "DeviceGetUUID": lambda handle: f"GPU-{handle}a-bc".encode(),
        "SystemGetDriverVersion": b"580.159.04",
        "SystemGetCudaDriverVersion": 13000,
        "DeviceGetName": b"NVIDIA H200",
        "DeviceGetPciInfo": bus,
        "DeviceGetMemoryInfo": lambda *_: SimpleNamespace(total=143771 << 20, used=4 << 20),
        "DeviceGetCudaComputeCapability": (9, 0),
        "DeviceGetComputeRunningProcesses": [],
        "DeviceGetPowerManagementLimit": 700000,
        "DeviceGetPowerManagementDefaultLimit": 700000,
        "DeviceGetPowerUsage": 76123,
        "DeviceGetClockInfo": 345,
        "DeviceGetMaxClockInfo": 1980,
        "DeviceGetTemperature": 29,
        "DeviceGetUtilizationRates": SimpleNamespace(gpu=0),
        "DeviceGetCurrentClocksEventReasons": 1,
        "DeviceGetEccMode": [1, 1],
        "DeviceGetTotalEccErrors": 0,
        "DeviceGetRemappedRows": (0, 0, 0, 0),
        "DeviceGetMigMode": [0, 0],
        "DeviceGetPersistenceMode": 1,
        "DeviceGetComputeMode": 0,
        "DeviceGetCurrPcieLinkWidth": 16,
        "DeviceGetMaxPcieLinkWidth": 16,
        "DeviceGetNvLinkState": lambda handle, link: 1 if link < 18 else _refuse(),
        "DeviceGetNvLinkRemoteDeviceType": 2,
        "DeviceGetNvLinkRemotePciInfo": SimpleNamespace(busId=b"00000000:A0:00.0"),
        "DeviceGetP2PStatus": 0,
        "DeviceGetTopologyCommonAncestor": 50,
        "DeviceGetGpuFabricInfo": lambda handle, record: _fill(record, 3),
    }
    return {**answers, **changes}


def nvml(answers: Mapping[str, Any]) -> Nvml:
    """NVML over such a table."""
    return Nvml(Library(answers))


def _refuse() -> int:
    raise NotSupported


def _fill(record: Any, state: int) -> int:
    record.state, record.status = state, 0
    return 0
