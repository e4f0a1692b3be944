"""The all-reduce for PCIe hosts where it cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.nccl.engine_writes import Launch
    from eaglecfg.rules.nccl.settings import Settings

NAME, SIZES = "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", (2, 4, 8)


def check(ctx: Context) -> Iterator[Item]:
    """FlashInfer's PCIe kernels are opted into by a variable, which some set-ups ignore."""
    view = settings(ctx)
    if view is None or view.launch is None or not _on(view):
        yield NotApplicable()
        return
    lacks = _lacks(view, view.launch)
    if lacks:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} has no effect: {lacks}",
            why="NCCL carries all-reduce instead",
            fix=without_variable(view, NAME, safe=True),
            help=f"leave {NAME} out",
        )


def _on(view: Settings) -> bool:
    from eaglecfg.engines.numerals import engine_switch

    return engine_switch(view.text(NAME)) is True


def _lacks(view: Settings, launch: Launch) -> str:
    dtype = launch.flag("target.dtype")
    if launch.flag("enable_deterministic_inference"):
        return "--enable-deterministic-inference rules it out"
    if view.tensor not in SIZES:
        return f"its kernels know 2, 4 and 8 ranks, not {view.tensor}"
    if dtype is not None and dtype != "bfloat16":
        return f"its kernels reduce bfloat16 only, and the model runs {dtype}"
    return ""


RULE = Rule(
    id="EC628",
    slug="pcie-ipc-unsupported",
    severity=Severity.INFO,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC636",),
    research=("nccl/S007",),
)
