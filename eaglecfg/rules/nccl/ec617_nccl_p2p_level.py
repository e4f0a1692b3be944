"""A P2P level that does nothing, or reaches further than the host may carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

NAME = "NCCL_P2P_LEVEL"
WIDE = ("P2C", "PXN", "PHB", "SYS")
"""Levels beyond NCCL's default on PCIe."""


def check(ctx: Context) -> Iterator[Item]:
    """The level must be able to act, and a wide one deserves a test of its own."""
    view = settings(ctx)
    parsed = view.parsed(NAME) if view is not None else None
    if view is None or parsed is None:
        yield NotApplicable()
        return
    if view.number("NCCL_P2P_DISABLE") == 1:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} is ignored, since {view.spelled('NCCL_P2P_DISABLE')} turns P2P off",
            why="NCCL looks at the level only where P2P is on",
            help="keep one of the two",
            related=((view.path("NCCL_P2P_DISABLE"), "turned off here"),),
            fix=without_variable(view, NAME, safe=True),
            values={"NCCL_P2P_DISABLE": view.text("NCCL_P2P_DISABLE")},
        )
        return
    level = parsed.taken
    if level != "NVL" and level not in WIDE:
        return
    if view.topology is None:
        yield NotChecked(f"what {view.spelled(NAME)} does: declare hardware.topology")
    elif level == "NVL" and view.topology == "pcie":
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} on a host without NVLink turns P2P off",
            today=Today.SLOWER,
            why="no pair is as near as NVL, so that everything goes through host memory",
            fix=without_variable(view, NAME),
            help="leave it out, or write the distance that the host carries (PXB, PHB, SYS)",
        )
    elif level in WIDE and view.topology != "nvswitch" and view.tensor > 1:
        yield _wide(view, str(level))


def _wide(view: Settings, level: str) -> Finding:
    consumer = view.gpu is not None and view.gpu.consumer
    beyond = f"; the stock driver of {view.gpu_name} has none at all" if consumer else ""
    return view.finding(
        NAME,
        f"{NAME}={level} lets GPUs talk directly further than NCCL's default on PCIe (PXB){beyond}",
        severity=Severity.WARNING if consumer else Severity.INFO,
        today=Today.NOTHING,
        why="hosts with IOMMU or ACS on, and drivers without P2P, then hang at the first collective or "
        "return wrong "
        "data; where P2P really works it is the fastest way",
        help="test it once with a time limit and a check of values before it serves",
    )


RULE = Rule(
    id="EC617",
    slug="nccl-p2p-level",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    follows=(
        "EC646",
        "EC608",
        "EC618",
    ),
    research=(
        "nccl/X003",
        "nccl/X006",
        "nccl/X007",
    ),
)
