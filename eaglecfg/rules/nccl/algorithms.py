"""What NCCL_ALGO and NCCL_PROTO leave on the declared machine."""

from __future__ import annotations

from collections.abc import Mapping

from eaglecfg.nccl.lists import COLLECTIVES, Allowed
from eaglecfg.nccl.selection import Left, left_for, unnamed_by, without_algorithm
from eaglecfg.rules.nccl.settings import Settings


def barred(view: Settings) -> Mapping[str, str]:
    """Algorithm -> why it cannot run here. What is not declared bars nothing."""
    out: dict[str, str] = {}
    nvls = nvls_off(view)
    if nvls:
        out["NVLS"] = out["NVLSTree"] = nvls
    if view.nodes == 1:
        out["NVLSTree"] = "NVLSTree runs on several nodes only"
    if view.number("NCCL_COLLNET_ENABLE") != 1:
        out["CollNetDirect"] = out["CollNetChain"] = "CollNet needs NCCL_COLLNET_ENABLE=1 and a plug-in"
    elif view.nodes < (least := view.number("NCCL_COLLNET_NODE_THRESHOLD") or 2):
        fewer = "there is one" if view.nodes == 1 else f"there are {view.nodes}"
        out["CollNetDirect"] = out["CollNetChain"] = f"CollNet needs {least} nodes, and {fewer}"
    return out


def nvls_off(view: Settings) -> str:
    """Why NVLS cannot run here, empty where it can or where too little is declared."""
    seen = view.sees("NCCL_NVLS_ENABLE")
    if view.number("NCCL_NVLS_ENABLE") == 0:
        by = (
            "SGLang sets NCCL_NVLS_ENABLE=0 unless told otherwise"
            if seen.by_engine
            else "NCCL_NVLS_ENABLE is 0"
        )
        return f"NVLS is off ({by})"
    if view.gpu is not None and view.gpu.major < 9:
        return f"NVLS needs compute capability 9, and {view.gpu_name} has {view.gpu.capability}"
    if view.topology is not None and view.topology != "nvswitch":
        return f"NVLS needs NVSwitch, and hardware.topology is {view.topology}"
    if view.nodes == 1 and view.tensor == 2 and not view.recent("2.28.9"):
        return "NVLS on two GPUs came with 2.28.9"
    return ""


def lost(view: Settings) -> tuple[Left, ...]:
    """The collectives that are left without an algorithm."""
    return without_algorithm(
        view.allowed("NCCL_ALGO"), view.allowed("NCCL_PROTO"), barred(view), view.version
    )


def left_alone(view: Settings) -> frozenset[str]:
    """The algorithms that all-reduce may still use."""
    left = left_for("AllReduce", view.allowed("NCCL_ALGO"), view.allowed("NCCL_PROTO"), barred(view))
    return frozenset(algorithm for algorithm, _ in left.pairs)


def idle(view: Settings) -> Mapping[str, str]:
    """Listed algorithms that cannot run here -> why."""
    algorithms, protocols, bars = view.allowed("NCCL_ALGO"), view.allowed("NCCL_PROTO"), barred(view)
    reasons: dict[str, str] = {}
    for collective in COLLECTIVES:
        found = left_for(collective, algorithms, protocols, bars).idle
        reasons |= {name: why for name, why in found.items() if name in bars}
    return reasons


def partial(allowed: Allowed) -> bool:
    """Whether the list names some collectives and leaves others alone."""
    return not allowed.general and bool(unnamed_by(allowed))
