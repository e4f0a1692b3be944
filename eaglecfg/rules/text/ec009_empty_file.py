"""A file without content."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("empty-file",)

RULE = Rule(
    id="EC009",
    slug="empty-file",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(*KINDS, why="there is nothing to check"),
    scope="file",
)
