"""EC403: the target's key and value heads over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, Rule, Severity, Today
from eaglecfg.rules.parallel.division import key_value_heads


def check(ctx: Context) -> Iterator[Item]:
    return key_value_heads(ctx, "target")


RULE = Rule(
    id="EC403",
    slug="target-kv-heads",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.TARGET_CONFIG,),
    follows=("EC401", "EC408"),
    research=("TP-03",),
)
