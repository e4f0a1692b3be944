"""EC409: more ranks than the machine has GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import counted
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import devices, ranks, unsettled


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    hardware, parallel, shared = ctx.model.hardware, ctx.model.parallel, ranks(ctx)
    if hardware is None or hardware.count is None:
        yield NotApplicable()
        return
    # Under DP attention the replicas live on the same ranks; without it each replica has ranks of its own.
    replicas = parallel.dp_size if parallel.dp_size is not None and shared.groups == 1 else 1
    replicas = 1 if parallel.enable_dp_attention else replicas
    parts = {"tp_size": shared.tensor, "pp_size": parallel.pp_size or 1, "dp_size": replicas}
    wanted, hosts = 1, parallel.nnodes or 1
    for number in parts.values():
        wanted *= number
    have = hardware.count * hosts
    if wanted <= have:
        yield from _moved(ctx, hardware.count)
        return
    used = {name: n for name, n in parts.items() if n != 1} or {"tp_size": shared.tensor}
    if hardware.count < 1:
        yield Finding(
            f"hardware.count must be at least 1, but is {hardware.count}",
            path=ctx.where("hardware", "count"),
            why="it is the number of GPUs on each host, and something has to run the ranks",
            help=f"write the number of GPUs, {wanted} or more, or leave count out",
            values={"needed": wanted, "available": have},
        )
        return
    product = " × ".join(f"{name} {n}" for name, n in used.items())
    left = " × ".join(map(str, used.values()))
    machine = f"{hosts} × {hardware.count}" if hosts > 1 else str(hardware.count)
    yield Finding(
        f"{product} needs {wanted} GPU{'s' * (wanted != 1)}, but the hardware block gives {have}",
        path=ctx.where("parallel", "tp_size"),
        why="SGLang stops while it places its ranks (there is no such device)",
        help=f"lower {' or '.join(used)} until the product is at most {have}, or correct hardware.count"
        if len(used) > 1 or "tp_size" not in used
        else f"lower tp_size to at most {have}, or correct hardware.count",
        related=((ctx.where("hardware", "count"), "GPUs on each host"),),
        arithmetic=(f"{left if left == str(wanted) else f'{left} = {wanted}'} > {machine}",),
        values={"needed": wanted, "available": have},
    )


def _moved(ctx: Context, count: int) -> Iterator[Finding]:
    """Enough GPUs, but base_gpu_id or gpu_id_step lead beyond the last of them."""
    taken = devices(ctx)
    if not taken.moved or taken.needed <= count or ctx.argument("device") not in (None, "cuda"):
        return
    if ctx.argument("use_ray") is True:
        return  # Ray places the ranks
    given = " and ".join(f"{name} {ctx.argument(name)}" for name in taken.moved)
    verb = "leads" if len(taken.moved) == 1 else "lead"
    yield Finding(
        f"{given} {verb} the {counted(taken.ranks, 'rank')} of a host to GPU {taken.needed - 1}, but the "
        f"hardware block gives {count}, numbered from 0",
        path=ctx.argument_path(taken.moved[0]),
        why="SGLang stops while it places its ranks (there is no such device)",
        help=f"leave {' and '.join(taken.moved)} out, or correct hardware.count",
        related=((ctx.where("hardware", "count"), "GPUs on each host"),),
        values={"needed": taken.needed, "available": count},
    )


RULE = Rule(
    id="EC409",
    slug="gpu-count",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.HARDWARE,),
    follows=("EC408",),
)
