"""Problems of the schema as findings; each rule of this family takes one kind of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked
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
        fix=fix_of(problem),
    )


def fix_of(problem: SchemaProblem) -> Fix | None:
    """The remedy of a problem as a fix: never a safe one, as what was not read before is read then."""
    remedy = problem.remedy
    if remedy is None or not problem.path:
        return None
    key = str(problem.path[-1])
    match remedy.kind:
        case "rename":
            return Fix(f"write {remedy.text} for {key}", problem.path, remedy.text, kind="rename")
        case "set":
            return Fix(f"set {key} to {remedy.text}", problem.path, remedy.text)
        case "move":
            title = f"move {key} under {remedy.to[-2]}"
            put = Fix(title, remedy.to, remedy.text, kind="add")
            return Fix(title, problem.path, kind="remove", also=(put,))
