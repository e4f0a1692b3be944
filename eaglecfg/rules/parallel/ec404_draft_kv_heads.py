"""EC404: the draft's key and value heads over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, Rule, Severity, Today
from eaglecfg.rules.parallel.division import key_value_heads


def check(ctx: Context) -> Iterator[Item]:
    return key_value_heads(ctx, "draft")


RULE = Rule(
    id="EC404",
    slug="draft-kv-heads",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.DRAFT_CONFIG,),
    follows=("EC402", "EC408", *UNLOADABLE),
    research=("TP-03",),
)
