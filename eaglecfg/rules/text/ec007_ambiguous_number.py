"""Numbers with a leading zero: 010 is 8 to one reader of YAML and 10 to the next."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Rule, Severity, Today
from eaglecfg.rules.text.problems import finding_of
from eaglecfg.schema import load, load_study

KINDS = ("ambiguous-number",)


def check(context: Context) -> Iterator[Item]:
    """Numbers whose value depends on the reader, except where a key takes the spelling and no number."""
    is_text = load.is_text if context.study is None else load_study.is_text
    for problem in context.config.document.problems:
        if problem.kind in KINDS and not is_text(problem.path):
            yield finding_of(problem, "two programs that read this file would run with different numbers")


RULE = Rule(
    id="EC007",
    slug="ambiguous-number",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="file",
)
