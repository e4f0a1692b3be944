"""Values that torch or the engine cannot read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

if TYPE_CHECKING:
    from eaglecfg.nccl.engine_reads import Misread
    from eaglecfg.rules.nccl.settings import Settings

MOST_SHOWN = 60

_TORCH = ("y", "yes", "1", "t", "true", "n", "no", "0", "f", "false")


def check(ctx: Context) -> Iterator[Item]:
    """torch stops at a value that it cannot read; the engine takes its default instead."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    from eaglecfg.nccl.facts import related

    torchs, own = related()["torch"], view.own()
    for name in view.given:
        if view.handed(name):
            continue
        kind = torchs.get(name, {}).get("kind")
        found = _torch(view, name, kind) if kind else _engine(view, name, own.get(name, {}).get("kind"))
        if found is not None:
            yield found
    yield from _engines_own(ctx, [name for name in own if own[name].get("kind")])


def _engines_own(ctx: Context, told: Collection[str]) -> Iterator[Finding]:
    """Other variables of the engine's: a switch that it cannot read does not do what it says."""
    from eaglecfg.engines.command import handed_on
    from eaglecfg.nccl.engine_reads import misread

    for name, text in ctx.model.env.items():
        if ctx.engine is None or not name.startswith("SGLANG_") or name in told or text == handed_on(name):
            continue
        found = misread(ctx.engine, name, text)
        if found is None:
            continue
        shown = text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."
        yield Finding(
            f"{name}={shown}: sglang takes {found.expected}, and {found.instead}",
            path=ctx.where("env", name),
            severity=_severity(found),
            today=Today.CRASH_AT_START if found.stops else Today.IGNORED,
            why="it is read while a module of the server is imported, and nothing catches what does not fit"
            if found.stops
            else "a value that cannot be read costs one warning in the server's log",
            help=f"write {found.expected}",
            evidence=(Evidence(f"sglang {ctx.engine.facts_of}", name, found.source),),
            values={name: text},
        )


def _severity(found: Misread) -> Severity:
    if found.stops:
        return Severity.ERROR
    return Severity.INFO if found.harmless else Severity.WARNING


def _torch(view: Settings, name: str, kind: str) -> Finding | None:
    text = view.text(name)
    expected = "1 or 0" if kind == "bool" else "a whole number"
    rest = ""
    if kind == "bool":
        good = text.lower() in _TORCH
    else:
        number = re.match(r"\s*([+-]?[0-9]+)", text)
        good = number is not None and -(2**31) <= int(number[1][:12]) < 2**31
        rest = text[number.end() :] if number is not None and good else ""
    if good and not rest:
        return None
    return view.finding(
        name,
        f"{view.spelled(name)}: torch reads the digits in front and drops '{rest}'"
        if good
        else f"{view.spelled(name)}: torch cannot read it, and stops when its process group is made",
        severity=Severity.WARNING if good else None,
        today=Today.REWRITTEN if good else Today.CRASH_AT_START,
        why=f"{name} takes {expected}" if kind == "bool" else f"{name} takes {expected}, read with std::stoi",
        help=f"write {expected}",
    )


def _engine(view: Settings, name: str, kind: str | None) -> Finding | None:
    from eaglecfg.engines.numerals import engine_switch
    from eaglecfg.nccl.engine_reads import is_number

    text = view.text(name)
    if kind is None or (engine_switch(text) is not None if kind == "bool" else is_number(text, "int")):
        return None
    expected = "true or false" if kind == "bool" else "a whole number"
    default = view.own()[name].get("default")
    return view.finding(
        name,
        f"{view.spelled(name)}: sglang takes {expected}, and works with its default instead"
        + (f", {default}" if default else ""),
        severity=Severity.WARNING,
        today=Today.IGNORED,
        why="a value that cannot be read costs one warning in the server's log",
        help=f"write {expected}",
    )


RULE = Rule(
    id="EC645",
    slug="variable-unreadable",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    follows=("EC636",),
)
