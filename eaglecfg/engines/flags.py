"""Server flags of one engine version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from eaglecfg.record import record

UNREADABLE = "<computed>"
"""Stands for a default that only running the engine could tell."""


@record
class FlagFact:
    """One server flag of this version. ``name`` has underscores.

    ``type`` is bool, int, float, str, json or list. ``default`` is ``<computed>`` where only running the
    engine could tell. ``deprecated`` says what to use instead. ``option`` is the command line spelling where
    it is not the name with hyphens.
    """

    name: str
    type: str
    default: Any = None
    choices: tuple[str, ...] | None = None
    aliases: tuple[str, ...] = ()
    source: str = ""
    deprecated: str = ""
    option: str = ""


class Flags(Mapping[str, FlagFact]):
    """Flags by field name, from rows that are read at the first look: many commands need none."""

    def __init__(self, load: Callable[[], dict[str, Mapping[str, Any]]]) -> None:
        self._load = load

    @cached_property
    def _rows(self) -> dict[str, Mapping[str, Any]]:
        return self._load()

    @cached_property
    def _aliases(self) -> dict[str, str]:
        return {alias: name for name, row in self._rows.items() for alias in row.get("aliases", ())}

    def canonical(self, name: str) -> str:
        """The field name behind ``name``, which may have hyphens or leading dashes, or be an alias."""
        plain = name.lstrip("-").replace("-", "_")
        return plain if plain in self._rows else self._aliases.get(plain, plain)

    def __getitem__(self, name: str) -> FlagFact:
        row = self._rows[name]
        choices = row.get("choices")
        return FlagFact(
            name,
            row["type"],
            row.get("default"),
            None if choices is None else tuple(choices),
            tuple(row.get("aliases", ())),
            f"{row['source']} (sglang {row['since']})",
            row.get("deprecated", ""),
            row.get("option", ""),
        )

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
