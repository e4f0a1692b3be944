"""GPUs chosen by names that the engine's own all-reduce cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

NAME = "CUDA_VISIBLE_DEVICES"


def check(ctx: Context) -> Iterator[Item]:
    """The engine reads the list as whole numbers; a UUID switches its own all-reduce off."""
    view = settings(ctx)
    if view is None or NAME not in view or view.launch is None or view.tensor <= 1:
        yield NotApplicable()
        return
    parts = [part.strip() for part in view.text(NAME).split(",") if part.strip()]
    if all(part.isdigit() for part in parts):
        return
    otherwise = view.carrier(without=(NAME,))
    if otherwise.name == "unknown":
        yield NotChecked("whether the engine's own all-reduce is lost: declare hardware.topology")
    if otherwise.name not in ("custom", "fused"):
        return
    yield view.finding(
        NAME,
        f"{NAME} names GPUs by {parts[0]}, which the engine's own all-reduce cannot read: NCCL carries "
        "decode instead",
        why="it takes every entry for a whole number, fails, and is left off with one line in the log",
        help="list the GPUs by index (0,1,2,3)",
        values={"carrier": otherwise.name},
    )


RULE = Rule(
    id="EC626",
    slug="visible-devices-unreadable",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    needs=(Need.ENGINE,),
    research=("nccl/S006",),
)
