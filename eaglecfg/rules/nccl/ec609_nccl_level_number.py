"""A distance between GPUs given as a number."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import respell_variable


def check(ctx: Context) -> Iterator[Item]:
    """Levels have names; the old numbers mean other things in many guides."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, _ in view.known("level"):
        parsed = view.parsed(variable.name)
        if parsed is None or [p.code for p in parsed.problems] != ["number"]:
            continue
        yield view.finding(
            variable.name,
            f"{view.spelled(variable.name)} means {parsed.taken}, in NCCL's old numbers",
            why="0 is LOC, 1 PIX, 2 PXB, 3 PHB and 4 SYS; there is no number for NVL, and guides give other "
            "tables",
            help=f"write {parsed.taken}, or the level that you mean",
            values={"taken": parsed.taken},
            fix=respell_variable(view, variable.name, str(parsed.taken)),
        )


RULE = Rule(
    id="EC609",
    slug="nccl-level-number",
    severity=Severity.WARNING,
    today=Today.REWRITTEN,
    check=check,
    research=("nccl/X002",),
)
