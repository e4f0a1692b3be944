"""A weight file must be whole: as long as its header says, and really there."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import findings
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Cut off by an interrupted download, a Git LFS pointer in its place, or no regular file at all."""
    why = "loading stops at this file, after the files before it were read"
    yield from findings(context, "truncated", "lfs-pointer", "not-a-file", why=why)


RULE = Rule(
    id="EC804",
    slug="weight-file-cut-short",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
)
