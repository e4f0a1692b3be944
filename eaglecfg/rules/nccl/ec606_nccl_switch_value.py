"""A switch that is neither on nor off."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings


def check(ctx: Context) -> Iterator[Item]:
    """Switches take the numbers that they list."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, _ in view.known("int"):
        parsed = view.parsed(variable.name)
        for problem in parsed.problems if parsed is not None else ():
            if problem.code != "values":
                continue
            yield view.finding(
                variable.name,
                f"{variable.name} takes {problem.expected}, not {variable.text}: {problem.outcome}",
                why=f"NCCL works with {parsed.shown}" if parsed is not None else "",
                help=f"write {problem.expected}",
                values={"taken": parsed.shown if parsed is not None else ""},
            )


RULE = Rule(
    id="EC606",
    slug="nccl-switch-value",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    research=(
        "nccl/N007",
        "nccl/X004",
        "nccl/X012",
        "nccl/M002",
        "nccl/W008",
    ),
)
