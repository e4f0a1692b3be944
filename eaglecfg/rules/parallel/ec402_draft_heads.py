"""EC402: the draft's attention heads over the ranks; it runs on the same ones as the target."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, Rule, Severity, Today
from eaglecfg.rules.parallel.division import query_heads


def check(ctx: Context) -> Iterator[Item]:
    return query_heads(ctx, "draft")


RULE = Rule(
    id="EC402",
    slug="draft-heads",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.DRAFT_CONFIG,),
    follows=("EC401", "EC408", *UNLOADABLE),
    research=("TP-02",),
)
