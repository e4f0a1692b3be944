"""A flag that this version still takes but is about to lose."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.arguments import Argument
from eaglecfg.rules.context import Context
from eaglecfg.rules.elsewhere import below
from eaglecfg.rules.model import Finding, Fix, Item, Need, Rule, Severity, Today


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
            help=f"use {fact.deprecated}{_where(ctx, argument)}",
            values={"flag": argument.name},
            fix=_fix(ctx, argument, fact.deprecated),
        )


def _where(ctx: Context, argument: Argument) -> str:
    """A settings file may not take the new name: some versions take it on the command line alone."""
    file = ctx.settings_file
    inside = file is not None and below(ctx.where(*argument.path), file)
    return " under server:, and take it out of the file" if inside else ""


def _fix(ctx: Context, argument: Argument, instead: str) -> Fix | None:
    """The new name, where it is another name of the same."""
    assert ctx.engine is not None
    name = instead.removeprefix("--").replace("-", "_")
    old, new = ctx.engine.flags.get(ctx.engine.flags.canonical(argument.name)), ctx.engine.flags.get(name)
    if old is None or new is None or (old.type, old.choices) != (new.type, new.choices):
        return None
    if argument.path[:1] != ("server",) or name in (ctx.arguments or {}):
        return None
    at = ctx.where(*argument.path)
    return Fix(f"write {name} for {at[-1]}", at, name, safe=False, kind="rename")


RULE = Rule(
    id="EC328",
    slug="flag-deprecated",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.ENGINE,),
)
