"""Bytes and characters that editors, reviewers and parsers read differently."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("not-utf8", "control-character", "line-separator", "carriage-return")

RULE = Rule(
    id="EC004",
    slug="text-encoding",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(
        *KINDS, why="programs disagree on such text, so that what was reviewed is not what is run"
    ),
    scope="file",
)
