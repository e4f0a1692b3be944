"""A variable of torch's under its old name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Fix, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import give

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings


def check(ctx: Context) -> Iterator[Item]:
    """Variables of torch's process groups carry TORCH_ in front today."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    from eaglecfg.nccl.facts import related

    table = related()
    for name in view.given:
        new = table["torch_old"].get(name)
        if new is None:
            continue
        read = name in table["torch_reads_old"]
        yield view.finding(
            name,
            f"{name} is not NCCL's: torch's name for it is {new}",
            at_key=True,
            why="torch still reads the old name, with a warning, and may drop it"
            if read
            else "torch does not read the old name",
            help=f"write {new} under env",
            fix=None if view.handed(name) else _fix(ctx, view, name, new, read),
            today=Today.NOTHING if read else Today.IGNORED,
        )


def _fix(ctx: Context, view: Settings, name: str, new: str, read: bool) -> Fix:
    """The new name in the place of the old one, which under ``nccl:`` would get NCCL's prefix."""
    path, title = view.path(name), f"write {new} for {name}"
    if view.given[name].path[:1] == ("env",):
        return Fix(title, path, new, read, "rename")
    put = give(ctx, ("env", new), view.text(name), safe=read)
    return Fix(title, path, "", read, "remove", (put,))


RULE = Rule(
    id="EC603",
    slug="nccl-torch-name",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    research=("nccl/N003",),
)
