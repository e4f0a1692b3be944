"""YAML beyond plain data: tags, directives, further documents, keys that are no text, cycles."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("tag", "directive", "second-document", "key-not-text", "cycle")

RULE = Rule(
    id="EC006",
    slug="plain-yaml",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(*KINDS, why="readers of YAML give such text different meanings"),
    scope="file",
)
