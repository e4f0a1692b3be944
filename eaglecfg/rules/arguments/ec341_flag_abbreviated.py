"""A flag by its beginning alone."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.table import load_facts
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, Rule, Severity, Today
from eaglecfg.rules.remedies import settled


def check(ctx: Context) -> Iterator[Item]:
    """What the engine completes today, a version with one more flag of that beginning stops at."""
    assert ctx.engine is not None
    assert ctx.arguments is not None
    flags = ctx.engine.flags
    for argument in ctx.arguments.values():
        written = str(argument.path[-1])
        if argument.path[:1] != ("server",) or argument.name not in flags:
            continue
        if flags.whole(written) is not None:
            continue
        other = _other(ctx, written, argument.name)
        yield Finding(
            f"{written} is only the beginning of a flag; sglang {ctx.engine.version} takes it for "
            f"{argument.name}",
            path=ctx.where(*argument.path),
            at_key=True,
            why=other
            or "SGLang's argument parser completes a beginning that one option alone has, and stops at it as "
            "soon as a version has two of them",
            help=f"write {argument.name}",
            fix=_fix(ctx, argument),
            values={"written": written, "flag": argument.name},
        )


def _other(ctx: Context, written: str, name: str) -> str:
    """The first later version that takes ``written`` for anything else, in words; empty where none does."""
    assert ctx.engine is not None
    known = ctx.engine.known_versions
    for version in known[known.index(ctx.engine.facts_of) + 1 :]:
        facts = load_facts(ctx.engine.name, version)
        if facts is None or (now := facts.flags.canonical(written)) == name:
            continue
        if now in facts.flags:
            return f"sglang {version} takes it for {now}"
        count = len(facts.flags.begun(written))
        begin = f"{count} options begin so" if count else "no option begins so"
        return f"in sglang {version} {begin}, and its argument parser stops"
    return ""


def _fix(ctx: Context, argument: Argument) -> Fix:
    at = ctx.where(*argument.path)
    return Fix(f"write {argument.name} for {at[-1]}", at, argument.name, safe=settled(ctx), kind="rename")


RULE = Rule(
    id="EC341",
    slug="flag-abbreviated",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.ENGINE,),
)
