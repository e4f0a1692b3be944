"""Links between GPUs that cannot be there."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today

SWITCHED = ("H100", "H200", "A100", "B200")
"""The commonest of those that may be joined in any way: for these the table of GPUs is not opened."""


def check(ctx: Context) -> Iterator[Item]:
    """The declared links must go with the number of ranks and with the GPU."""
    hardware, tensor = ctx.model.hardware, ctx.model.parallel.tp_size
    topology = hardware.topology if hardware is not None else None
    if hardware is None or topology is None or topology == "pcie":
        yield NotApplicable()
        return
    hosts = ctx.model.parallel.nnodes or 1
    if topology == "single":
        if tensor > hosts:
            yield _finding(
                ctx,
                f"hardware.topology is single, one GPU alone, and tp_size {tensor} needs more than one",
                "write how the GPUs are joined: nvswitch, nvlink-pair or pcie",
            )
        return
    if any(part in (hardware.gpu or "").upper() for part in SWITCHED):
        return
    from eaglecfg.nccl.gpus import gpu_of

    gpu = gpu_of(hardware.gpu)
    if (
        gpu is not None
        and gpu.nvlink in ("none", "pair")
        and (gpu.nvlink, topology) != ("pair", "nvlink-pair")
    ):
        most = "no NVLink" if gpu.nvlink == "none" else "NVLink between two of them at most"
        yield _finding(
            ctx,
            f"hardware.topology is {topology}, and {hardware.gpu} has {most}",
            "write pcie"
            if gpu.nvlink == "none"
            else "write nvlink-pair, or pcie where no bridge is plugged in",
        )


def _finding(ctx: Context, message: str, advice: str) -> Finding:
    return Finding(
        message,
        path=ctx.where("hardware", "topology"),
        why="who carries an all-reduce, and which of NCCL's settings are safe, goes by the declared links",
        help=f"{advice}; nvidia-smi topo -m shows it",
        related=((ctx.where("hardware", "gpu"), "the GPU"), (ctx.where("parallel", "tp_size"), "the ranks")),
    )


RULE = Rule(
    id="EC646",
    slug="topology-contradicted",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
)
