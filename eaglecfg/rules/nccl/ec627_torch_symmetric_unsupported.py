"""torch's symmetric memory where it cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import leave_out

if TYPE_CHECKING:
    from eaglecfg.nccl.engine_writes import Launch
    from eaglecfg.rules.nccl.settings import Settings

FLAG, CAPABILITIES, SIZES = "enable_torch_symm_mem", (9, 10), (2, 4, 6, 8)


def check(ctx: Context) -> Iterator[Item]:
    """It needs bfloat16, Hopper or Blackwell, multicast, and a number of ranks that it knows."""
    view = settings(ctx, flags=(FLAG,))
    if view is None or not view.flag(FLAG) or view.launch is None or view.tensor <= 1:
        yield NotApplicable()
        return
    lacks = _lacks(view, view.launch)
    if lacks:
        yield Finding(
            f"enable_torch_symm_mem has no effect: {lacks}",
            path=ctx.argument_path(FLAG),
            why="SGLang then leaves the communicator off, says so in one line of its log, and goes on "
            "without",
            help="leave the flag out",
            fix=leave_out(ctx, FLAG, safe=True),
            values={"gpu": view.gpu_name, "topology": view.topology},
        )
    elif view.gpu is None or view.topology is None:
        yield NotChecked("whether enable_torch_symm_mem can work: declare hardware.gpu and hardware.topology")


def _lacks(view: Settings, launch: Launch) -> str:
    gpu, dtype = view.gpu, launch.flag("target.dtype")
    if launch.flag("enable_deterministic_inference"):
        return "--enable-deterministic-inference rules it out"
    if gpu is not None and gpu.major not in CAPABILITIES:
        return f"it needs compute capability 9 or 10, and {view.gpu_name} has {gpu.capability}"
    if dtype is not None and dtype != "bfloat16":
        return f"it reduces bfloat16 only, and the model runs {dtype}"
    if view.tensor not in SIZES:
        return f"it knows 2, 4, 6 and 8 ranks, not {view.tensor}"
    if view.topology is not None and view.topology != "nvswitch":
        return f"it needs multicast, and hardware.topology is {view.topology}"
    return ""


RULE = Rule(
    id="EC627",
    slug="torch-symmetric-unsupported",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
    research=("nccl/S009",),
)
