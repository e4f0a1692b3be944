"""Problems of the schema as findings; each rule of this family takes one kind of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotChecked
from eaglecfg.schema.loaded import SchemaProblem


def findings_of(kind: str, why: str) -> Callable[[Context], Iterator[Item]]:
    """A check that reports every problem of this kind."""

    def check(context: Context) -> Iterator[Item]:
        if context.config.document.data is None and context.config.document.problems:
            yield NotChecked("the file does not parse")
        for problem in context.config.problems:
            if problem.kind == kind:
                yield finding_of(problem, why)

    return check


def finding_of(problem: SchemaProblem, why: str) -> Finding:
    """One problem of the schema as a finding."""
    return Finding(
        problem.message,
        path=problem.path,
        at_key=problem.at_key,
        why=why,
        help=problem.help,
        related=((problem.other, "first given here"),) if problem.other is not None else (),
        more=problem.more,
    )
