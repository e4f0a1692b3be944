"""Markers that a version control system left in the file."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("conflict-marker",)

RULE = Rule(
    id="EC008",
    slug="conflict-marker",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(*KINDS, why="one of the two versions has to be chosen before the file means anything"),
    scope="file",
)
