"""EC401: the target's attention heads over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, Rule, Severity, Today
from eaglecfg.rules.parallel.division import query_heads


def check(ctx: Context) -> Iterator[Item]:
    return query_heads(ctx, "target")


RULE = Rule(
    id="EC401",
    slug="target-heads",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.TARGET_CONFIG,),
    follows=("EC408",),
    research=("TP-01",),
)
