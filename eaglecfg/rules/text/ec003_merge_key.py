"""YAML merge keys (``<<``) hide where a setting comes from; ``defaults:`` does the same in the open."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("merge-key",)

RULE = Rule(
    id="EC003",
    slug="merge-key",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(
        *KINDS, why="what a merge key brings in, and what wins, differs between readers of YAML"
    ),
    scope="file",
)
