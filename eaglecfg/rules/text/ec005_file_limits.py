"""Files too large, too deep or too rich in aliases to be a config."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("too-large", "too-deep", "too-many-values", "too-many-problems", "number-too-long")

RULE = Rule(
    id="EC005",
    slug="file-limits",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(*KINDS, why="the limits keep a check within seconds, whatever it is pointed at"),
    scope="file",
)
