"""A value of another type or spelling than its key takes."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.schema.problems import findings_of

RULE = Rule(
    id="EC102",
    slug="wrong-type",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=findings_of(
        "wrong-type",
        why="the value counts as not given, so checks that need it cannot run",
    ),
    scope="file",
)
