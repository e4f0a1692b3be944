"""A key that is written twice in one mapping: readers of YAML keep one of the two, without a word."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("duplicate-key",)

RULE = Rule(
    id="EC002",
    slug="duplicate-key",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(*KINDS, why="most readers of YAML keep the last one and drop the first without a word"),
    scope="file",
)
