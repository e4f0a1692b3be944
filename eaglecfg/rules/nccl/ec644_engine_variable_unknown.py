"""A variable of the engine's that it does not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Fix, Item, Need, NotApplicable, Rule, Severity, Today

if TYPE_CHECKING:
    from eaglecfg.engines.facts import EngineFacts

PREFIX = "SGLANG_"
SPOKEN_OF = frozenset(("SGLANG_ENABLE_SPEC_V2",))
"""Names with a rule of their own."""


def check(ctx: Context) -> Iterator[Item]:
    """Every name that begins like the engine's must stand somewhere in its code."""
    names = [name for name in ctx.model.env if name.startswith(PREFIX)]
    if not names or ctx.engine is None or ctx.engine.name != "sglang":
        yield NotApplicable()
        return
    from eaglecfg.nccl.engine_writes import engine_variables
    from eaglecfg.schema_files import read_schema

    known = read_schema("engines", "sglang", "environment.json")["variables"]
    for name in names:
        if name in engine_variables("sglang") or name in SPOKEN_OF:
            continue  # a rule of its own knows these line by line
        old = ctx.copied.get(name)
        if old in known and _there(ctx.engine.facts_of, known[old]):
            continue  # the engine reads it by that name too
        if name in known:
            yield from _other_version(ctx, ctx.engine, name, known[name])
        else:
            yield _unknown(ctx, name, _near(ctx.engine, known))


def _near(engine: EngineFacts, known: dict[str, dict[str, str]]) -> list[str]:
    return [one for one in known if one.startswith(PREFIX) and _there(engine.facts_of, known[one])]


def _there(version: str, row: dict[str, str]) -> bool:
    from eaglecfg.nccl.version import at_least

    return at_least(version, row.get("since", version)) and at_least(row.get("until", version), version)


def _other_version(ctx: Context, engine: EngineFacts, name: str, row: dict[str, str]) -> Iterator[Item]:
    from eaglecfg.nccl.version import before

    if _there(engine.facts_of, row):
        return
    early = before(engine.facts_of, row.get("since", engine.facts_of))
    history = f"it came with {row['since']}" if early else f"{row['until']} was the last version with it"
    yield Finding(
        f"sglang {engine.version} does not read {name}; {history}",
        path=ctx.where("env", name),
        at_key=True,
        today=Today.IGNORED,
        why="a name that the engine does not read changes nothing, and nothing reports it",
        help=f"run sglang {row['since']} or later, or leave it out" if early else "leave it out",
        fix=Fix(f"remove {name}", ctx.where("env", name), "", False, "remove"),
        evidence=(Evidence(f"sglang {engine.facts_of}", "the wheel's files", f"no {name}"),),
    )


def _unknown(ctx: Context, name: str, known: list[str]) -> Finding:
    from eaglecfg.nccl.names import nearest

    near, path = nearest(name, known, PREFIX), ctx.where("env", name)
    new = near if near is not None and near not in ctx.model.env else None
    return Finding(
        f"sglang reads no variable {name}" + (f"; the nearest name is {near}" if near else ""),
        path=path,
        at_key=True,
        severity=None if near else Severity.INFO,
        why="the name stands in no release whose wheel was read; another package may read it",
        help=f"write {near}, or leave it out"
        if near
        else "remove it, unless another part of the server reads it",
        fix=Fix(f"write {new} for {name}", path, new, False, "rename") if new else None,
        values={"nearest": near},
    )


RULE = Rule(
    id="EC644",
    slug="engine-variable-unknown",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
)
