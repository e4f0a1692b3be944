"""A number that NCCL reads as another one."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import write_variable


def check(ctx: Context) -> Iterator[Item]:
    """NCCL reads numbers with strtoll, which stops at the first character that it cannot use."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, _ in view.known():
        parsed = view.parsed(variable.name)
        for problem in parsed.problems if parsed is not None else ():
            if problem.code not in ("misread", "octal", "overflow", "spelling"):
                continue
            message = f"{view.spelled(variable.name)}: {problem.outcome}; it takes {problem.expected}"
            if problem.code == "octal":
                message = f"{view.spelled(variable.name)} is octal: {problem.outcome}"
            if problem.code == "overflow":
                message = f"{view.spelled(variable.name)} is too large a number; NCCL uses {problem.outcome}"
            meant = problem.fixed
            yield view.finding(
                variable.name,
                message,
                severity=Severity.WARNING if problem.code == "spelling" else None,
                why="NCCL takes the digits at the beginning, in C's spelling (0x.. hexadecimal, 0.. octal), "
                "and drops "
                "the rest without a word",
                help=f"write {problem.fixed}" if problem.fixed else f"write {problem.expected}",
                values={"taken": problem.outcome},
                fix=write_variable(view, variable.name, meant, safe=True) if meant else None,
            )


RULE = Rule(
    id="EC604",
    slug="nccl-number-misread",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    research=(
        "nccl/N004",
        "nccl/N005",
    ),
)
