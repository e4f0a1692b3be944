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
    from eaglecfg.nccl.custom import unreadable_entry
    from eaglecfg.rules.nccl.paths import path_of

    entry = unreadable_entry(view.text(NAME))
    if entry is None:
        return
    now, otherwise = path_of(ctx), path_of(ctx, without=(NAME,))
    if now is None or otherwise is None:
        return
    if otherwise.open is not None and otherwise.open.wanted:
        yield NotChecked(
            f"whether the engine's own all-reduce is lost: declare {' and '.join(otherwise.open.wanted)}"
        )
    lost = {taken.carrier for taken in otherwise.takers} - {taken.carrier for taken in now.takers}
    if "custom" not in lost:
        return
    yield view.finding(
        NAME,
        f"{NAME} names a GPU by {entry or 'nothing'}, which the engine's own all-reduce cannot read: "
        + ("NCCL carries decode instead" if now.carried else "it stays off"),
        why="it takes every entry for a whole number, fails, and is left off with one line in the log",
        help="list the GPUs by index (0,1,2,3)",
        values={"carrier": "custom", "entry": entry},
    )


RULE = Rule(
    id="EC626",
    slug="visible-devices-unreadable",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    follows=(
        "EC641",
        "EC646",
    ),
    needs=(Need.ENGINE,),
    research=("nccl/S006",),
)
