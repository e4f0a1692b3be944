"""Which implementation carries the all-reduce of decode and verify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from eaglecfg.nccl.engine_writes import Launch, engine_table
from eaglecfg.nccl.gpus import Gpu
from eaglecfg.nccl.version import at_least

Name = Literal["none", "custom", "fused", "nccl", "mixed", "unknown"]


@dataclass(frozen=True, slots=True)
class Carrier:
    """``none``: one rank, nothing to reduce. ``custom``: the engine's own kernels. ``fused``: with the norm,
    by FlashInfer. ``mixed``: something else takes a part of the sizes. ``why`` is one clause for people;
    ``wanted`` the declarations that are missing where the name is ``unknown``."""

    name: Name
    why: str
    wanted: tuple[str, ...] = ()
    source: str = ""


def decode_carrier(launch: Launch, topology: str | None, gpu: Gpu | None, *, fused: bool) -> Carrier:
    """The carrier for messages of decode size (up to some MiB). ``fused``: the engine turns FlashInfer's
    fusion on by itself for this architecture. Pure; what hardware would have to tell and is not declared
    gives ``unknown``."""
    if launch.tensor <= 1:
        return Carrier("none", "one rank has nothing to reduce")
    if launch.flag("enable_dp_attention"):
        return Carrier("mixed", "data-parallel attention gathers and scatters instead, through NCCL")
    for flag in ("enable_mscclpp", "enable_torch_symm_mem"):
        if launch.flag(flag):
            return Carrier("mixed", f"--{flag.replace('_', '-')} takes some sizes")
    off = _custom_off(launch)
    if off:
        return Carrier("nccl", off)
    if launch.nodes > 1:
        if gpu is not None and gpu.fabric:
            return Carrier("mixed", "NVLink reaches the other nodes")
        return Carrier("nccl", "the ranks are on several nodes")
    if topology is None:
        return Carrier("unknown", "", ("hardware.topology",))
    return _on_one_node(launch, topology, gpu, fused=fused)


def _custom_off(launch: Launch) -> str:
    """Why the engine's own all-reduce is off, empty where it is on."""
    for flag in ("disable_custom_all_reduce", "enable_deterministic_inference"):
        if launch.flag(flag):
            return f"--{flag.replace('_', '-')} turns the engine's own all-reduce off"
    visible = launch.env.get("CUDA_VISIBLE_DEVICES", "")
    if visible and not all(part.strip().isdigit() for part in visible.split(",")):
        return "the engine cannot read CUDA_VISIBLE_DEVICES and leaves its own all-reduce off"
    return ""


def _on_one_node(launch: Launch, topology: str, gpu: Gpu | None, *, fused: bool) -> Carrier:
    linked = topology == "nvswitch" or (topology == "nvlink-pair" and launch.tensor == 2)
    row = custom_fact(launch)
    source = f"{row['source']} (sglang {row['read_in']})"
    if linked and fused and gpu is not None and gpu.major in (9, 10):
        return Carrier("fused", "FlashInfer's fused all-reduce carries it", source=source)
    if linked and launch.tensor in row["sizes"]:
        return Carrier("custom", "the engine's own all-reduce carries it over NVLink", source=source)
    if launch.env.get("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE") in ("1", "true") and at_least(
        launch.version, "0.5.21"
    ):
        return Carrier("mixed", "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE takes the sizes that it supports")
    if not linked and launch.tensor == 2:
        return Carrier(
            "custom", "for two ranks the engine's own all-reduce works over PCIe too", source=source
        )
    if linked:
        return Carrier(
            "nccl", f"the engine's own all-reduce does not know {launch.tensor} ranks", source=source
        )
    return Carrier("nccl", "more than two ranks without NVLink between all of them", source=source)


def custom_fact(launch: Launch) -> Mapping[str, Any]:
    """The row about the engine's own all-reduce that this launch builds: ``sizes``, ``most_bytes``."""
    first, second = engine_table()["custom_all_reduce"]
    later = at_least(launch.version, second["since"])
    asked = launch.env.get(second["switch"], launch.env.get(first["second"], "")).lower()
    newer = asked in ("1", "true") or (later and asked not in ("0", "false"))
    row: Mapping[str, Any] = second if newer else first
    return row
