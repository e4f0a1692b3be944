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
    carrier = view.carrier()
    if carrier.name == "unknown":
        yield NotChecked(f"whether NCCL carries decode: declare {' and '.join(carrier.wanted)}")
        return
    if carrier.name not in ("nccl", "mixed"):
        return
    if elements == frozenset(("Simple",)):
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} leaves Simple alone for all-reduce, the slowest protocol for decode's "
            "small messages",
            why="NCCL's own model gives Simple 40 to 70 µs more than LL per call at eight ranks, and a "
            "forward pass has "
            "two calls per layer",
            help="write LL,Simple, so that NCCL can choose by size",
            values={"carrier": carrier.name},
            fix=write_variable(view, NAME, "LL,Simple"),
        )
    elif allowed.general:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} leaves LL alone for all sizes: prefill's large messages get half the "
            "bandwidth",
            severity=Severity.INFO,
            why="every 8 bytes of LL carry 4 bytes of data",
            help="LL,Simple;allreduce:LL keeps the others free; compare the time to the first token",
        )


RULE = Rule(
    id="EC614",
    slug="nccl-protocol-slow",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    follows=(
        "EC610",
        "EC611",
        "EC613",
    ),
    research=(
        "nccl/P004",
        "nccl/P005",
    ),
)
