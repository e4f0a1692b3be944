"""Problems of the text as findings; each rule of this family takes some kinds of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Severity
from eaglecfg.source.document import Problem


def findings_of(
    *kinds: str, why: str, severity: Severity | None = None
) -> Callable[[Context], Iterator[Item]]:
    """A check that reports every problem of these kinds."""

    def check(context: Context) -> Iterator[Item]:
        for problem in context.config.document.problems:
            if problem.kind in kinds:
                yield finding_of(problem, why, severity)

    return check


def finding_of(problem: Problem, why: str, severity: Severity | None = None) -> Finding:
    """One problem of the text as a finding, at the place where it stands."""
    return Finding(
        problem.message,
        path=problem.path,
        span=problem.span,
        severity=severity,
        why=why,
        help=problem.help,
        related=((problem.path, problem.other_note),) if problem.other is not None else (),
        fix=_without_second(problem),
    )


def _without_second(problem: Problem) -> Fix | None:
    """Take a key out that is written twice with one value; None for any other problem."""
    if problem.spare is None:
        return None
    title = "remove the second, which says the same"
    return Fix(title, problem.path, safe=True, kind="cut", span=problem.spare)
