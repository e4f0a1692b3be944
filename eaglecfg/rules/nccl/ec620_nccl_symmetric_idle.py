"""Symmetric memory without what it stands on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

FLAG = "enable_symm_mem"
SYMMETRIC = ("NCCL_SYM_NOWIN_ENABLE", "NCCL_SYM_KERNEL", "NCCL_SYM_CTAS", "NCCL_SYM_TMA_ENABLE")


def check(ctx: Context) -> Iterator[Item]:
    """Symmetric kernels need cuMem, windows and NVLink between all ranks."""
    view = settings(ctx, flags=(FLAG,))
    if view is None:
        yield NotApplicable()
        return
    wanted = [name for name in SYMMETRIC if name in view and view.text(name) not in ("", "0")]
    if view.symmetric and view.number("NCCL_WIN_ENABLE") == 0 and "NCCL_WIN_ENABLE" in view:
        yield view.finding(
            "NCCL_WIN_ENABLE",
            f"{view.spelled('NCCL_WIN_ENABLE')} forbids the windows that --enable-symm-mem registers",
            severity=Severity.ERROR,
            today=Today.SILENT,
            why="symmetric kernels run on registered windows only",
            fix=without_variable(view, "NCCL_WIN_ENABLE"),
            help="leave NCCL_WIN_ENABLE out, or the flag",
        )
    if view.number("NCCL_CUMEM_ENABLE") in (0, -1):
        yield from _without_cumem(view, wanted)
    elif wanted and view.linked is False:
        yield view.finding(
            wanted[0],
            f"{view.spelled(wanted[0])} has nothing to act on: not every pair of ranks has NVLink",
            severity=Severity.INFO,
            why=f"hardware.topology is {view.topology}, and symmetric kernels need direct NVLink",
            fix=without_variable(view, wanted[0], safe=True),
            help="leave it out",
        )


def _without_cumem(view: Settings, wanted: list[str]) -> Iterator[Item]:
    seen = view.sees("NCCL_CUMEM_ENABLE")
    by = (
        f"SGLang sets NCCL_CUMEM_ENABLE={seen.text}"
        if seen.by_engine
        else f"NCCL_CUMEM_ENABLE={seen.text} is given"
    )
    fabric = view.gpu is None or view.gpu.fabric  # without one a rule of its own speaks
    more = ["NCCL_MNNVL_ENABLE"] if view.nodes > 1 and fabric else []
    for name in (*wanted, *more, "NCCL_RUNTIME_CONNECT"):
        if name not in view or (name not in wanted and view.number(name) != 1):
            continue
        severity = {"NCCL_MNNVL_ENABLE": Severity.ERROR, "NCCL_RUNTIME_CONNECT": Severity.INFO}.get(name)
        yield view.finding(
            name,
            f"{view.spelled(name)} does nothing without cuMem, and {by}",
            severity=severity,
            why="memory that is not from cuMem cannot be mapped into the other ranks this way",
            help="set NCCL_CUMEM_ENABLE=1 as well, or leave it out",
            fix=without_variable(view, name, safe=True),
            values={"NCCL_CUMEM_ENABLE": seen.text},
        )


RULE = Rule(
    id="EC620",
    slug="nccl-symmetric-idle",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    follows=(
        "EC602",
        "EC619",
    ),
    research=(
        "nccl/M006",
        "nccl/M010",
        "nccl/M011",
    ),
)
