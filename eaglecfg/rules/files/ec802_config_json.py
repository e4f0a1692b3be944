"""A model's config.json must be there, be JSON, and say each thing once."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.record import replace
from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import SIDE_FILES, checkpoints, finding, of_kinds
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Missing or malformed: an error. A key given twice: an error with two values, a warning with one."""
    for side, facts in checkpoints(context):
        if problems := of_kinds(facts, "missing-config", "config-malformed"):
            yield finding(context, side, problems, why="without it no engine can tell what the weights are")
        twice = [p for p in of_kinds(facts, "duplicate-key") if not p.file.endswith(SIDE_FILES)]
        if twice:
            why = "engines take the last value without a word; whoever edited the first sees no effect"
            doubts = tuple((problem.file, problem.key) for problem in twice)
            yield replace(finding(context, side, twice, why=why, today=Today.SILENT), doubts=doubts)
        again = [p for p in of_kinds(facts, "repeated-key") if not p.file.endswith(SIDE_FILES)]
        if again:
            why = "an edit of one of them will have no effect"
            yield finding(context, side, again, why=why, severity=Severity.WARNING, today=Today.NOTHING)


RULE = Rule(
    id="EC802",
    slug="config-json",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
)
