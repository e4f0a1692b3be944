"""Which implementation carries the all-reduce of decode and verify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eaglecfg.nccl.custom import custom_fact, custom_row, custom_shuts
from eaglecfg.nccl.engine_writes import Launch
from eaglecfg.nccl.gpus import Gpu
from eaglecfg.nccl.paths import Machine, fusion_runs
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
    off = custom_shuts(launch)
    if off and _still_fuses(launch, topology, gpu, fused=fused):
        return Carrier("mixed", "FlashInfer's fused all-reduce carries the target's layers, NCCL the rest")
    if off:
        return Carrier("nccl", off)
    if launch.nodes > 1:
        if gpu is not None and gpu.fabric:
            return Carrier("mixed", "NVLink reaches the other nodes")
        return Carrier("nccl", "the ranks are on several nodes")
    if topology is None:
        return Carrier("unknown", "", ("hardware.topology",))
    return _on_one_node(launch, topology, gpu, fused=fused)


def _still_fuses(launch: Launch, topology: str | None, gpu: Gpu | None, *, fused: bool) -> bool:
    """Whether FlashInfer's fusion runs although the engine's own all-reduce is off."""
    linked = Machine(topology, gpu).linked(launch.tensor)
    return linked and launch.nodes == 1 and fusion_runs(launch, gpu, automatic=fused) is True


def _on_one_node(launch: Launch, topology: str, gpu: Gpu | None, *, fused: bool) -> Carrier:
    linked = Machine(topology, gpu).linked(launch.tensor)
    fact, row = custom_fact(launch), custom_row(launch, gpu, linked=linked)
    source = f"{fact['source']} (sglang {fact['read_in']})"
    if linked and fused and gpu is not None and gpu.major in (9, 10):
        return Carrier("fused", "FlashInfer's fused all-reduce carries it", source=source)
    if linked and row is not None:
        return Carrier("custom", "the engine's own all-reduce carries it over NVLink", source=source)
    if launch.env.get("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE") in ("1", "true") and at_least(
        launch.version, "0.5.21"
    ):
        return Carrier("mixed", "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE takes the sizes that it supports")
    if row is not None:
        return Carrier(
            "custom", "for two ranks the engine's own all-reduce works over PCIe too", source=source
        )
    if linked:
        return Carrier(
            "nccl", f"the engine's own all-reduce does not know {launch.tensor} ranks", source=source
        )
    if launch.tensor == 2:
        why = "this version has no all-reduce of its own for two ranks without NVLink"
        return Carrier("nccl", why, source=source)
    return Carrier("nccl", "more than two ranks without NVLink between all of them", source=source)
