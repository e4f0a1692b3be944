"""One protocol for all sizes."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import write_variable

NAME = "NCCL_PROTO"


def check(ctx: Context) -> Iterator[Item]:
    """Decode sends small messages, which Simple handles slowly; prefill sends large ones, for which LL is
    narrow."""
    view = settings(ctx)
    allowed = view.allowed(NAME) if view is not None and NAME in view else None
    if view is None or allowed is None or view.tensor <= 1:
        yield NotApplicable()
        return
    elements = allowed.of("AllReduce")
    if elements not in (frozenset(("Simple",)), frozenset(("LL",))):
        return
    from eaglecfg.rules.nccl.paths import open_because, path_of

    path = path_of(ctx)
    unsettled = open_because(view, path)
    if unsettled:
        yield NotChecked(unsettled)
        return
    if path is None or not path.carried:
        return
    carrier = path.takers[0].carrier
    if elements == frozenset(("Simple",)):
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} leaves Simple alone for all-reduce, the slowest protocol for decode's "
            "small messages",
            why="NCCL's own model gives Simple 40 to 70 µs more than LL per call at eight ranks, and a "
            "forward pass has "
            "two calls per layer",
            help="write LL,Simple, so that NCCL can choose by size",
            values={"carrier": carrier},
            fix=write_variable(view, NAME, "LL,Simple"),
        )
    elif not allowed.named:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} leaves LL alone for all collectives and sizes: prefill's large messages "
            "get half the bandwidth",
            severity=Severity.INFO,
            why="every 8 bytes of LL carry 4 bytes of data",
            help="LL,Simple leaves the choice by size to NCCL, LL,Simple;allreduce:LL that of all but "
            "all-reduce; compare the time to the first token",
        )


RULE = Rule(
    id="EC614",
    slug="nccl-protocol-slow",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    follows=(
        "EC646",
        "EC610",
        "EC611",
        "EC613",
    ),
    research=(
        "nccl/P004",
        "nccl/P005",
    ),
)
