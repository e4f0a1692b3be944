"""A suppression that does not say why."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.schema.suppressions import holds_suppressions


def check(context: Context) -> Iterator[Item]:
    """Every suppression must give a reason. It acts all the same: one finding for one cause."""
    document = context.config.document
    if not holds_suppressions(document):
        yield NotApplicable()
        return
    from eaglecfg.rules.suppression import marks_of

    for mark in marks_of(document):
        if mark.reason or mark.slip or not mark.rules:
            continue
        names = ", ".join(mark.rules)
        way = "behind the bracket" if mark.lines is not None else "as its reason"
        yield Finding(
            f"a finding of {names} is suppressed without a reason",
            path=mark.path,
            span=mark.span,
            why="whoever reads this next cannot tell whether it still holds",
            help=f"write {way} why the finding is accepted, or remove the suppression",
            values={"rules": list(mark.rules)},
        )


RULE = Rule(
    id="EC121",
    slug="suppression-reason",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="report",
)
