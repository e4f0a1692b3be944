"""A key that the file format does not know; it is refused rather than ignored, since it may be a slip."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.schema.problems import findings_of

RULE = Rule(
    id="EC101",
    slug="unknown-key",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(
        "unknown-key",
        why="a key that nothing reads is most often misspelled, and then the setting is not in force",
    ),
    scope="file",
)
