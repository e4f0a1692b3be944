"""FlashInfer's fused all-reduce where it cannot work."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import leave_out

FLAG = "flashinfer_allreduce_fusion_backend"


def check(ctx: Context) -> Iterator[Item]:
    """The fusion knows Hopper and data-centre Blackwell, and several nodes only on the latter."""
    view = settings(ctx, flags=(FLAG,))
    backend = view.flag(FLAG) if view is not None else None
    if view is None or backend is None or ctx.argument(FLAG) is None or view.tensor <= 1:
        yield NotApplicable()
        return
    path, gpu = ctx.argument_path(FLAG), view.gpu
    if view.flag("enable_dp_attention"):
        yield Finding(
            f"{FLAG}: {backend} has no effect on layers with data-parallel attention",
            path=path,
            severity=Severity.INFO,
            today=Today.IGNORED,
            why="there is no all-reduce after attention to fuse",
            fix=leave_out(ctx, FLAG),
            help="leave it out",
        )
        return
    if gpu is None:
        yield NotChecked(f"whether {FLAG} can work: declare hardware.gpu")
        return
    lacks = ""
    if gpu.major not in (9, 10):
        lacks = f"it needs compute capability 9 or 10, and {view.gpu_name} has {gpu.capability}"
    elif view.nodes > 1 and (gpu.major != 10 or backend == "trtllm"):
        lacks = f"{backend} works on one node only" if gpu.major == 10 else "several nodes need Blackwell"
    elif backend == "cutedsl" and gpu.major != 10:
        lacks = f"cutedsl needs Blackwell, and {view.gpu_name} is none"
    if lacks:
        yield Finding(
            f"{FLAG}: {backend} stops the server: {lacks}",
            path=path,
            why="SGLang resolves the backend at start and raises where the machine does not have it",
            help="leave it out; SGLang turns the fusion on by itself where it works",
            fix=leave_out(ctx, FLAG),
            values={"gpu": view.gpu_name, "capability": gpu.capability},
        )


RULE = Rule(
    id="EC634",
    slug="fusion-backend-unsupported",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    research=("nccl/S008",),
)
