"""A suppression with nothing left to suppress."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.schema.suppressions import holds_suppressions, removal_of


def check(context: Context) -> Iterator[Item]:
    """Every rule that a suppression names should find something there, unless it could not be decided."""
    if not holds_suppressions(context.config.document):
        yield NotApplicable()
        return
    for each in context.unused:
        if each.reason:
            continue  # nothing was looked at, which another rule says
        mark = each.mark
        where = "here" if mark.lines is not None else f"in {mark.deployment or 'this file'}"
        yield Finding(
            f"{each.rule} finds nothing {where} that would have to be suppressed",
            path=mark.path,
            span=mark.span,
            why="the next finding of the rule would be suppressed by a decision about another one",
            help=f"remove the suppression of {each.rule}",
            values={"rule": each.rule},
            fix=removal_of(mark),
        )


RULE = Rule(
    id="EC123",
    slug="suppression-unused",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    scope="report",
)
