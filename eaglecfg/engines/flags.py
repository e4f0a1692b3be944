"""Server flags of one engine version."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice, takewhile
from typing import Any

from eaglecfg.record import record

UNREADABLE = "<computed>"
"""Stands for a default that only running the engine could tell."""


@record
class FlagFact:
    """One server flag of this version. ``name`` has underscores.

    ``type`` is bool, int, float, str, json or list. ``default`` is ``<computed>`` where only running the
    engine could tell. ``deprecated`` says what to use instead. ``option`` is the command line spelling where
    it is not the name with hyphens. ``items``, for a list: the type of one word, then ``+`` where there must
    be one, or ``*``.
    """

    name: str
    type: str
    default: Any = None
    choices: tuple[str, ...] | None = None
    aliases: tuple[str, ...] = ()
    source: str = ""
    deprecated: str = ""
    option: str = ""
    items: str = ""


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

    @cached_property
    def _options(self) -> dict[str, str]:
        """Every option of the parser, with underscores, and the flag behind it, in order."""
        out = dict(self._aliases)
        for name, row in self._rows.items():
            out[_plain(row.get("option", "")) or name] = name
        return dict(sorted(out.items()))

    @cached_property
    def _ordered(self) -> list[str]:
        return list(self._options)

    @cached_property
    def _canonical(self) -> dict[str, str]:
        """What was found for names that are not whole: every rule asks for the same few again."""
        return {}

    def whole(self, name: str) -> str | None:
        """The field name behind ``name`` where that is written out: a flag's own name, or an alias."""
        plain = _plain(name)
        return plain if plain in self._rows else self._aliases.get(plain)

    def begun(self, name: str) -> Mapping[str, str]:
        """Options that begin with ``name``, with underscores, and the flag behind each.

        SGLang's parser is a plain argparse.ArgumentParser in every version read: it takes a beginning for the
        one option that has it, and refuses a beginning of two, even of two names of one flag.
        """
        plain = _plain(name)
        if not plain:
            return {}
        first = bisect_left(self._ordered, plain)
        alike = takewhile(lambda one: one.startswith(plain), islice(self._ordered, first, None))
        return {option: self._options[option] for option in alike}

    def canonical(self, name: str) -> str:
        """The field name behind ``name``, which may have hyphens or leading dashes, be an alias, or be the
        beginning of one option alone; ``name`` with underscores where no flag is behind it."""
        found = self.whole(name)
        if found is not None:
            return found
        known = self._canonical.get(name)
        if known is None:
            begun = self.begun(name)
            known = next(iter(begun.values())) if len(begun) == 1 else _plain(name)
            self._canonical[name] = known
        return known

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
            row.get("items", ""),
        )

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _plain(option: str) -> str:
    return option.lstrip("-").replace("-", "_")
