"""Which keys of a draft's config.json this engine version looks at."""

from __future__ import annotations

from typing import Any

from eaglecfg.engines.facts import DraftFact
from eaglecfg.engines.table import load_facts
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence


def draft_fact(ctx: Context) -> DraftFact | None:
    """Facts of the draft's class in this version; None where the class is not one that it builds."""
    if ctx.engine is None or ctx.draft is None or ctx.draft.config is None:
        return None
    return ctx.engine.drafts.get(ctx.draft.config.architecture or "")


def option(ctx: Context, name: str) -> tuple[str, Any] | None:
    """(key as the file spells it, value) of an option that may stand in ``eagle_config`` or at the top
    level."""
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    block = ctx.draft.config.raw.get("eagle_config")
    if isinstance(block, dict) and name in block:
        return f"eagle_config.{name}", block[name]
    found = ctx.draft.config.find(name)
    return None if found is None else (found.key, found.value)


def first_version(ctx: Context, name: str) -> str | None:
    """The first known version whose draft class honours ``name``; None where none does."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    for version in ctx.engine.known_versions:
        facts = load_facts(ctx.engine.name, version)
        fact = facts.drafts.get(ctx.draft.config.architecture or "") if facts is not None else None
        if fact is not None and name in fact.honours:
            return version
    return None


def since(ctx: Context, name: str) -> str:
    """``; sglang 0.5.17 and later do``, or that no known version does."""
    assert ctx.engine is not None
    version = first_version(ctx, name)
    return (
        f"; {ctx.engine.name} {version} and later do"
        if version
        else ", nor does any other version read so far"
    )


def newer(ctx: Context, name: str, otherwise: str) -> str:
    """What to do about an option that this version does not read: the version to run, or ``otherwise``."""
    assert ctx.engine is not None
    version = first_version(ctx, name)
    return f"run {ctx.engine.name} {version} or later" if version else otherwise


def engine_line(ctx: Context, fact: DraftFact, note: str) -> Evidence:
    """The draft class in the engine's source."""
    assert ctx.engine is not None
    return Evidence(f"{ctx.engine.name} {ctx.engine.facts_of}", fact.architecture, fact.source, note)
