"""Neither P2P nor host memory between GPUs of one node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

if TYPE_CHECKING:
    pass


def check(ctx: Context) -> Iterator[Item]:
    """Ranks on one node need P2P or host memory."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    off = view.p2p_off()
    if view.tensor <= view.nodes or not off or view.number("NCCL_SHM_DISABLE") != 1:
        return
    nothing = view.number("NCCL_NET_DISABLE_INTRA") == 1
    outcome = (
        "no way is left, and initialisation fails"
        if nothing
        else "they talk through the network, even on one node"
    )
    yield view.finding(
        off,
        f"{view.spelled(off)} and {view.spelled('NCCL_SHM_DISABLE')} leave GPUs of one node neither P2P nor "
        "host "
        f"memory: {outcome}",
        today=Today.CRASH_AT_START if nothing else Today.SLOWER,
        why="the network's loop-back is many times slower than either",
        help="turn off one of the two at most",
        related=((view.path("NCCL_SHM_DISABLE"), "and host memory here"),),
        values={"NCCL_SHM_DISABLE": view.text("NCCL_SHM_DISABLE")},
    )


RULE = Rule(
    id="EC618",
    slug="nccl-no-transport",
    severity=Severity.ERROR,
    today=Today.SLOWER,
    check=check,
    research=("nccl/X005",),
)
