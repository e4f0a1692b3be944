"""What an engine version refuses while it reads its arguments: settings that do not go together, values that
it does not take."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from eaglecfg.engines.conditions import Term, names
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.table import rows_at, source_of
from eaglecfg.record import record


@record
class Refusal:
    """One check of the engine, by the settings that it stops at.

    All ``terms`` hold where it stops; the last one is what it objects to, those before say when. ``says`` is
    a part of the engine's own message, to look for in a log. ``speculation``: the check is about a draft.
    ``names`` are the settings that the terms read.
    """

    terms: tuple[Term, ...]
    names: frozenset[str]
    source: str
    says: str = ""
    why: str = ""
    speculation: bool = False


def refusals(facts: EngineFacts) -> tuple[Refusal, ...]:
    """All that were read in the version whose facts apply."""
    return _refusals(facts.name, facts.facts_of)


@cache
def _refusals(engine: str, version: str) -> tuple[Refusal, ...]:
    return tuple(_refusal(row) for row in rows_at(engine, version, "refusals.json"))


def _refusal(row: Mapping[str, Any]) -> Refusal:
    terms = tuple(row["if"])
    return Refusal(
        terms,
        frozenset(names(terms)),
        source_of(row),
        row.get("says", ""),
        row.get("why", ""),
        row.get("speculation", False),
    )
