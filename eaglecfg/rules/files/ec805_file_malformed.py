"""The header of a weight file must follow its format to the byte."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import findings
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Shapes and byte ranges must agree, and every byte must belong to exactly one tensor."""
    yield from findings(context, "malformed", why="readers of the format refuse such a file")


RULE = Rule(
    id="EC805",
    slug="weight-file-malformed",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
)
