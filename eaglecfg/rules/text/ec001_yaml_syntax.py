"""Text that is not YAML cannot be checked at all."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("syntax", "tab-indent", "unknown-alias")

RULE = Rule(
    id="EC001",
    slug="yaml-syntax",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(*KINDS, why="nothing else in the file can be checked until it parses"),
    scope="file",
)
