"""A server flag that this engine version does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.table import load_facts
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, Rule, Severity, Today

SHOWN = 4
"""Options that an ambiguous beginning could mean, as many as are named."""


def check(ctx: Context) -> Iterator[Item]:
    """Every argument must be a flag of this version, by name, alias or unambiguous beginning."""
    assert ctx.engine is not None
    assert ctx.arguments is not None
    flags = ctx.engine.flags
    for argument in ctx.arguments.values():
        name = flags.canonical(argument.name)
        if name in flags:
            continue
        begun = flags.begun(name)
        longer = sorted(set(begun.values()))
        versions = [v for v in ctx.engine.known_versions if _has(ctx.engine.name, v, name)]
        here, spelled = f"sglang {ctx.engine.version}", argument.name or "''"
        if versions:
            first, last, now = versions[0], versions[-1], ctx.engine.facts_of
            order = list(ctx.engine.known_versions)
            early = order.index(now) < order.index(first)
            history = f"it came with {first}" if early else f"{last} was the last version with it"
            message = f"{spelled} is not a flag of {here}; {history}"
            advice = f"run sglang {first} or later, or leave it out" if early else _advice(ctx, longer, name)
        elif begun:
            message = f"{spelled} is not a flag of {here}, but the beginning of {len(begun)} options"
            advice = _advice(ctx, longer, name)
        else:
            message = f"{spelled} is not a flag of {here}, nor of any other version read so far"
            advice = _advice(ctx, longer, name)
        yield Finding(
            message,
            path=ctx.where(*argument.path),
            at_key=True,
            why=f"SGLang's argument parser stops: --{name.replace('_', '-')} could be {_options(begun)}"
            if begun
            else "SGLang's argument parser stops at a flag that it does not know",
            help=advice,
            fix=_fix(ctx, argument, name, longer),
            values={"flag": argument.name, "versions": versions[:1] + versions[-1:]},
        )


def _options(names: Collection[str]) -> str:
    shown = [f"--{name.replace('_', '-')}" for name in names][:SHOWN]
    more = len(names) - len(shown)
    return ", ".join(shown[:-1] if not more else shown) + (
        f" or {shown[-1]}" if not more else f" or {more} more"
    )


def _has(engine: str, version: str, name: str) -> bool:
    facts = load_facts(engine, version)
    return facts is not None and name in facts.flags


@lru_cache(maxsize=4096)
def _near(engine: str, version: str, name: str, cutoff: float) -> tuple[str, ...]:
    """The nearest flags under which a value would not mean the opposite: enable_x is no slip of disable_x.

    Kept, as deployments share their slips through ``defaults``.
    """
    import difflib  # only on the way to a finding

    from eaglecfg.nccl.names import same_sense

    facts = load_facts(engine, version)
    alike = [flag for flag in facts.flags if same_sense(name, flag)] if facts is not None else []
    return tuple(difflib.get_close_matches(name, alike, n=2, cutoff=cutoff))


def _advice(ctx: Context, longer: list[str], name: str) -> str:
    """What to write instead: a flag that begins like it, or the nearest one."""
    assert ctx.engine is not None
    near = longer or _near(ctx.engine.name, ctx.engine.version, name, 0.75)
    return f"did you mean {' or '.join(sorted(near)[:3])}?" if near else "leave it out"


def _fix(ctx: Context, argument: Argument, name: str, longer: Sequence[str]) -> Fix | None:
    """The one flag that is near enough, for a key under ``server:``."""
    assert ctx.engine is not None
    near = longer or _near(ctx.engine.name, ctx.engine.version, name, 0.85)
    if len(near) != 1 or argument.path[:1] != ("server",) or near[0] in (ctx.arguments or {}):
        return None
    at = ctx.where(*argument.path)
    return Fix(f"write {near[0]} for {at[-1]}", at, near[0], safe=False, kind="rename")


RULE = Rule(
    id="EC301",
    slug="flag-unknown",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-22",),
)
