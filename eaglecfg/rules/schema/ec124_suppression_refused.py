"""A suppression of a finding that has to be seen."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.schema.suppressions import holds_suppressions, removal_of


def check(context: Context) -> Iterator[Item]:
    """Findings about the text of the file, and about suppressions, stay; an open check is no finding."""
    document = context.config.document
    if not holds_suppressions(document):
        yield NotApplicable()
        return
    from eaglecfg.rules.suppression import NEVER, marks_of

    for mark in marks_of(document):
        for rule in mark.rules:
            if NEVER.fullmatch(rule) is None:
                continue
            about = "the text of the file" if rule < "EC100" else "suppressions"
            yield Finding(
                f"findings of {rule} cannot be suppressed",
                path=mark.path,
                span=mark.span,
                why=f"they are about {about}, and nothing else can be relied on while they stand",
                help="solve what it finds, and remove the suppression",
                values={"rule": rule},
                fix=removal_of(mark),
            )
    for each in context.unused:
        if each.reason:
            yield Finding(
                f"{each.rule} could not be checked, and no suppression makes up for that: {each.reason}",
                path=each.mark.path,
                span=each.mark.span,
                severity=Severity.WARNING,
                why="a suppression accepts a finding that somebody has read; here there is none",
                help=f"give the run what {each.rule} reads, or leave the rule out with --ignore {each.rule}",
                values={"rule": each.rule},
            )


RULE = Rule(
    id="EC124",
    slug="suppression-refused",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="report",
)
