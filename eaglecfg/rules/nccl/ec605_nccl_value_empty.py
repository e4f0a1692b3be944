"""A variable that is set to nothing."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable


def check(ctx: Context) -> Iterator[Item]:
    """An empty value is the default for numbers, but a list of NCCL before 2.24 then allows nothing."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, _ in view.known():
        parsed = view.parsed(variable.name)
        if parsed is None or variable.text != "":
            continue
        yield view.finding(
            variable.name,
            f"{variable.name} is set, but empty; {view.library} takes it as {parsed.shown}",
            why="set and empty is not the same as unset for every variable and every version",
            fix=without_variable(view, variable.name),
            help="give a value, or remove the line",
        )


RULE = Rule(
    id="EC605",
    slug="nccl-value-empty",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    research=("nccl/N006",),
)
