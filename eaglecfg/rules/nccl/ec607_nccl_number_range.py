"""A number outside what NCCL takes."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings


def check(ctx: Context) -> Iterator[Item]:
    """Numbers must be in range, and multiples or powers where the kernels count on it."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, fact in view.known("int"):
        parsed = view.parsed(variable.name)
        for problem in parsed.problems if parsed is not None else ():
            if problem.code not in ("range", "multiple", "power", "unusual"):
                continue
            mild = problem.code in ("power", "unusual") or bool(fact.get("mild"))
            yield view.finding(
                variable.name,
                f"{variable.name} takes {problem.expected}, not {variable.text}: {problem.outcome}",
                severity=Severity.WARNING if mild else None,
                today=Today.SILENT if "not check" in problem.outcome else Today.REWRITTEN,
                why=_why(variable.name, problem.code),
                help=f"write {problem.expected}",
                values={"taken": parsed.taken if parsed is not None else None},
            )


def _why(name: str, code: str) -> str:
    if name.endswith("BUFFSIZE"):
        return "the kernels cut the buffer in steps and lines; sizes that do not fit have hung"
    if code == "multiple":
        return "threads come in warps of 32"
    return "the number that was asked for is not the one that runs"


RULE = Rule(
    id="EC607",
    slug="nccl-number-range",
    severity=Severity.ERROR,
    today=Today.REWRITTEN,
    check=check,
    research=(
        "nccl/T001",
        "nccl/T002",
        "nccl/T003",
        "nccl/C004",
        "nccl/C006",
        "nccl/B001",
        "nccl/B002",
        "nccl/B003",
        "nccl/W007",
        "nccl/W008",
    ),
)
