"""P2P turned off where something needs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings


def check(ctx: Context) -> Iterator[Item]:
    """NVLink is P2P, and symmetric memory needs it between all ranks."""
    view = settings(ctx)
    off = view.p2p_off() if view is not None else ""
    if view is None or not off or view.tensor <= 1:
        yield NotApplicable()
        return
    needs = _needs(view)
    if needs:
        yield view.finding(
            off,
            f"{view.spelled(off)} turns P2P off, and {needs} needs it",
            severity=Severity.ERROR,
            today=Today.SILENT,
            why="symmetric memory and NVLink across nodes work only where every rank reaches every other "
            "directly",
            fix=without_variable(view, off),
            help=f"leave {off} out",
        )
    elif view.topology is None:
        yield NotChecked("whether P2P is worth keeping: declare hardware.topology")
    elif view.linked:
        yield view.finding(
            off,
            f"{view.spelled(off)} turns NVLink off for NCCL: everything goes through host memory",
            why=f"hardware.topology is {view.topology}, where P2P runs over NVLink",
            fix=without_variable(view, off),
            help=f"leave {off} out",
        )


def _needs(view: Settings) -> str:
    if view.symmetric:
        return "--enable-symm-mem"
    for name in ("NCCL_SYM_NOWIN_ENABLE", "NCCL_MNNVL_ENABLE"):
        if view.number(name) == 1:
            return view.spelled(name) if name in view else name
    return ""


RULE = Rule(
    id="EC619",
    slug="nccl-p2p-off",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    follows=(
        "EC646",
        "EC618",
    ),
    research=(
        "nccl/X008",
        "nccl/X009",
    ),
)
