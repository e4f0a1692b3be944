"""A number that NCCL reads as another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import respell_variable

if TYPE_CHECKING:
    from eaglecfg.nccl.facts import VariableFact


def check(ctx: Context) -> Iterator[Item]:
    """NCCL reads numbers with strtoll, which stops at the first character that it cannot use."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, fact in view.known("int"):
        parsed = view.parsed(variable.name)
        for problem in parsed.problems if parsed is not None else ():
            if problem.code not in ("misread", "octal", "overflow", "spelling"):
                continue
            message = f"{view.spelled(variable.name)}: {problem.outcome}; it takes {problem.expected}"
            if problem.code == "octal":
                message = f"{view.spelled(variable.name)} is octal: {problem.outcome}"
            if problem.code == "overflow":
                message = f"{view.spelled(variable.name)} is too large a number; NCCL uses {problem.outcome}"
            if problem.code == "spelling":
                message = f"{view.spelled(variable.name)} is no plain number; {problem.outcome}, as is meant"
            meant = problem.fixed
            yield view.finding(
                variable.name,
                message,
                severity=Severity.WARNING if problem.code == "spelling" else None,
                today=Today.NOTHING if problem.code == "spelling" else None,
                why="NCCL takes the digits at the beginning, in C's spelling (0x.. hexadecimal, 0.. octal), "
                "and drops "
                "the rest without a word",
                help=f"write {meant}" if meant else f"write {_choices(fact, problem.expected)}",
                values={"taken": problem.outcome},
                fix=respell_variable(view, variable.name, meant) if meant else None,
            )


def _choices(fact: VariableFact, expected: str) -> str:
    from eaglecfg.nccl.integers import automatic

    looks = automatic(fact)
    return f"{looks}, with which NCCL looks whether it can, or 1 or 0" if looks else expected


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
