"""A word that NCCL does not know."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import respell_variable

KINDS = ("level", "word", "subsystems", "thresholds", "policy", "kernel", "net", "netdevs")
MILD = frozenset(("policy", "netdevs", "subsystems"))
"""Kinds whose unknown words cost a log line only."""


def check(ctx: Context) -> Iterator[Item]:
    """Words must be among those that the variable takes, in their exact case where that matters."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, fact in view.known(*KINDS):
        if fact.kind == "net" and "NCCL_NET_PLUGIN" in view:
            continue
        parsed = view.parsed(variable.name)
        for problem in parsed.problems if parsed is not None else ():
            if problem.code not in ("word", "case"):
                continue
            what = f"{variable.name} does not take {_shown(problem.part or variable.text)}"
            yield view.finding(
                variable.name,
                f"{what}: {problem.outcome}",
                severity=Severity.WARNING if _mild(variable.name, fact.kind) else None,
                today=Today.REFUSED if fact.kind == "net" else Today.SILENT,
                why=_why(problem.code, variable.text, problem.expected),
                help=f"write {problem.fixed}" if problem.fixed else f"write {problem.expected}",
                fix=respell_variable(view, variable.name, problem.fixed) if problem.fixed else None,
            )


def _why(code: str, text: str, expected: str) -> str:
    if code != "case":
        return f"it takes {expected}"
    return "blanks count here" if text != text.strip() else "the case of the letters counts here"


def _shown(text: str) -> str:
    """``text``, in quotes where its blanks would not be seen."""
    return f"'{text}'" if text != "".join(text.split()) else text


def _mild(name: str, kind: str) -> bool:
    return kind in MILD or name in (
        "NCCL_LAUNCH_MODE",
        "NCCL_CHECK_MODE",
        "NCCL_NET_MERGE_POLICY",
        "NCCL_DEBUG",
    )


RULE = Rule(
    id="EC608",
    slug="nccl-word-unknown",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    research=(
        "nccl/X001",
        "nccl/W001",
        "nccl/W006",
        "nccl/G006",
        "nccl/M009",
        "nccl/C008",
        "nccl/F005",
        "nccl/T005",
    ),
)
