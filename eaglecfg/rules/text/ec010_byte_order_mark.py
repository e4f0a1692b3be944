"""A byte-order mark before the first key."""

from __future__ import annotations

from eaglecfg.rules.model import Rule, Severity, Today
from eaglecfg.rules.text.problems import findings_of

KINDS = ("byte-order-mark",)

RULE = Rule(
    id="EC010",
    slug="byte-order-mark",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=findings_of(*KINDS, why="eaglecfg skips it, but other programs that read the file may not"),
    scope="file",
)
