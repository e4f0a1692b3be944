"""The ``hardware:`` block of this machine."""

from __future__ import annotations

from eaglecfg.machine.links import Topology
from eaglecfg.machine.survey import Machine
from eaglecfg.record import record

MIB = 1 << 20


@record
class Block:
    """The block's keys; None is left out, for it could not be seen."""

    gpu: str | None = None
    count: int | None = None
    topology: Topology | None = None
    gpu_memory: str | None = None
    nccl_version: str | None = None
    cuda: str | None = None
    torch: str | None = None
    python: str | None = None


def block_of(machine: Machine) -> Block | None:
    """What a server started here would find, as the config declares it; None without a GPU."""
    gpus = machine.visible_gpus
    if not gpus:
        return None
    least = min((gpu for gpu in gpus), key=lambda gpu: gpu.memory_total_bytes or 0)
    python, memory = machine.python, least.memory_total_bytes
    loaded = python.nccl_torch.version if python.nccl_torch is not None else ""
    return Block(
        gpu=short_name(least.name) or None,
        count=len(gpus),
        topology=machine.links.topology if machine.links is not None else None,
        gpu_memory=f"{memory // MIB}MiB" if memory else None,
        nccl_version=loaded or None,
        cuda=python.cuda_driver or machine.cuda_driver or None,
        torch=(python.torch.partition("+")[0] or None) if python.torch_cuda else None,
        python=python.version or None,
    )


def short_name(name: str) -> str:
    """``H200`` of ``NVIDIA H200``."""
    return name.removeprefix("NVIDIA ").strip()
