"""Files that readers accept and that no proper writer makes."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import findings
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Odd headers, numbered files with gaps in their names, a total size that is another one."""
    why = "the files load, but they were not written, or not copied, as usual"
    yield from findings(context, "odd-header", "odd-numbering", "total-size", why=why)


RULE = Rule(
    id="EC812",
    slug="odd-weight-files",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    follows=("EC803", "EC804", "EC805", "EC806", "EC807"),
)
