"""LL128 named where the links do not carry its stores whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import write_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

NAME = "NCCL_PROTO"


def check(ctx: Context) -> Iterator[Item]:
    """A list that leaves LL128 in switches NCCL's own guard off."""
    view = settings(ctx)
    allowed = view.allowed(NAME) if view is not None and NAME in view else None
    if view is None or allowed is None or view.tensor <= 1:
        yield NotApplicable()
        return
    if not any("LL128" in elements for elements in allowed.by_collective.values()):
        return
    if view.topology is None:
        yield NotChecked("whether LL128 is safe: declare hardware.topology")
        return
    unsafe = _unsafe(view)
    if unsafe:
        yield _finding(view, unsafe, bool(allowed.negated))
    elif view.gpu is not None and view.gpu.c2c and view.nodes > 1:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} forces LL128 between nodes of {view.gpu_name}",
            severity=Severity.WARNING,
            why="corrupted data was reported with LL128 over paths through the CPU's own link",
            help="leave LL128 out, and let NCCL's guard decide",
        )
    elif allowed.negated:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} leaves LL128 in, and so forces it",
            severity=Severity.WARNING,
            why="a list that begins with ^ counts all the others as asked for, past the guard that asks "
            "about the links",
            help="name the protocols that shall run: LL,LL128,Simple",
        )


def _unsafe(view: Settings) -> str:
    """Why LL128 may break data here, empty where it may not."""
    if view.gpu is not None and view.gpu.capability < 7:
        return f"{view.gpu_name} has compute capability {view.gpu.capability}, and LL128 needs 7"
    if view.topology == "nvswitch" or view.linked or view.tensor <= view.nodes:
        return ""  # between nodes NCCL's guard asks for the distance to the card, which nothing here declares
    where = (
        "the pairs are joined over PCIe"
        if view.topology == "nvlink-pair"
        else "the ranks are joined over PCIe"
    )
    return f"{where}, where a store of 128 bytes may arrive in two halves"


def _finding(view: Settings, unsafe: str, negated: bool) -> Finding:
    how = "leaves LL128 in" if negated else "names LL128"
    return view.finding(
        NAME,
        f"{view.spelled(NAME)} {how}, and so forces it past NCCL's guard: {unsafe}",
        why="LL128 takes flag and data for one store; halves that arrive apart are taken for whole data, "
        "and nothing "
        "reports it",
        help="write LL,Simple, or leave NCCL_PROTO out",
        values={"topology": view.topology},
        fix=write_variable(view, NAME, "LL,Simple"),
    )


RULE = Rule(
    id="EC613",
    slug="nccl-ll128-forced",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    follows=(
        "EC646",
        "EC610",
        "EC611",
    ),
    research=(
        "nccl/P001",
        "nccl/P002",
        "nccl/P003",
    ),
)
