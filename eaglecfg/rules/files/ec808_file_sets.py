"""A folder should hold the weights once."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import finding, findings, of_kinds, weighted
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Two layouts of which tools pick different ones: a warning. Files that nobody loads: worth knowing."""
    why = "tools disagree about which weights these are; the one you test with may not be the one that serves"
    yield from findings(context, "both-layouts", "unindexed-files", why=why)
    for side, facts in weighted(context):
        if problems := of_kinds(facts, "both-formats", "stray-file"):
            why = "it costs space, and an edit of the wrong file has no effect"
            yield finding(context, side, problems, why=why, severity=Severity.INFO)


RULE = Rule(
    id="EC808",
    slug="several-weight-sets",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    follows=("EC803", "EC806"),
)
