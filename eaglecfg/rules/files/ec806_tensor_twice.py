"""One tensor name must stand for one tensor."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import findings
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """A name twice in a header, in the index, or in two files that are both loaded."""
    why = "one of the two is used, and which one depends on the reader and on the order of the files"
    yield from findings(context, "duplicate-tensor", why=why)


RULE = Rule(
    id="EC806",
    slug="tensor-named-twice",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    follows=("EC803",),
)
