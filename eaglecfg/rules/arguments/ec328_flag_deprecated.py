"""A flag that this version still takes but is about to lose."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Flags that the engine itself calls deprecated."""
    assert ctx.engine is not None
    assert ctx.arguments is not None
    for argument in ctx.arguments.values():
        fact = ctx.engine.flags.get(ctx.engine.flags.canonical(argument.name))
        if fact is None or not fact.deprecated or argument.value is False:
            continue
        yield Finding(
            f"{argument.name} is deprecated in sglang {ctx.engine.version}",
            path=ctx.where(*argument.path),
            at_key=True,
            why="it works today and will be refused by a later version",
            help=f"use {fact.deprecated}",
            values={"flag": argument.name},
        )


RULE = Rule(
    id="EC328",
    slug="flag-deprecated",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.ENGINE,),
)
