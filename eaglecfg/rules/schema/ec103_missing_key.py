"""A key that the file format cannot do without."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.schema.problems import findings_of

RULE = Rule(
    id="EC103",
    slug="missing-key",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(
        "missing-key",
        why="the part of the file that needs it cannot be checked",
    ),
    scope="file",
)
