"""Who else reads the text that a fix would change: through ``defaults:``, and through anchors and aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from eaglecfg.record import replace
from eaglecfg.rules.model import Fix
from eaglecfg.rules.outcome import Reported
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document
from eaglecfg.source.edit import EditRefused
from eaglecfg.source.span import KeyPath, Place, Span, show_path

MOST_NAMED = 3
"""Readers that a refusal names."""

Reader = tuple[str | None, KeyPath]
"""A deployment, None for the file itself, and the document path at which it reads."""


class Reach:
    """What the anchors and aliases of ``document`` tie together."""

    def __init__(self, document: Document) -> None:
        self._places = document.places

    def of(self, fix: Fix) -> tuple[KeyPath, ...]:
        """Every path that holds something else once ``fix`` alone is made.

        A value that is set is the text behind its anchor, for all its aliases, or with ``at_alias`` the
        alias alone. A key that goes, or gets another name, is there once for every alias of a mapping
        around it.
        """
        place = self._places.get(fix.path)
        if place is None or not place.shared or fix.kind in ("add", "cut"):
            return (fix.path,)
        if fix.kind != "set":
            return tuple(path for path in self._entries[place.key or place.value] if path[-1] == fix.path[-1])
        return tuple(self._aliases[place.value] if fix.at_alias else self._texts[place.origin or place.value])

    @cached_property
    def _entries(self) -> dict[Span, list[KeyPath]]:
        return self._by(lambda place: place.key or place.value)

    @cached_property
    def _texts(self) -> dict[Span, list[KeyPath]]:
        return self._by(lambda place: place.origin or place.value)

    @cached_property
    def _aliases(self) -> dict[Span, list[KeyPath]]:
        return self._by(lambda place: place.value)

    def _by(self, spot: Callable[[Place], Span]) -> dict[Span, list[KeyPath]]:
        found: dict[Span, list[KeyPath]] = {}
        for path, place in self._places.items():
            if place.shared and path:
                found.setdefault(spot(place), []).append(path)
        return found


class Sharing:
    """Which deployments read which text of ``document``."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._reach = Reach(document)

    @cached_property
    def _readers(self) -> dict[KeyPath, set[str]]:
        readers: dict[KeyPath, set[str]] = {}
        if kind_of(self._document) == "config":
            for deployment in load_config(self._document).deployments:
                for path in deployment.origin.values():
                    readers.setdefault(path, set()).add(deployment.name)
        return readers

    def settle(self, found: Reported, wanted: Iterable[Reported]) -> Fix:
        """The fix of ``found`` as it can be made: where every reader of the text wants it, or at the alias.

        ``wanted`` are the findings whose fixes are to be made, ``found`` among them. Raises EditRefused
        where somebody reads the same text and does not want it changed so.
        """
        fix, asked = found.finding.fix, list(wanted)
        assert fix is not None
        first, *rest = (self._settle(each, found, asked) for each in (replace(fix, also=()), *fix.also))
        return replace(first, also=tuple(rest))

    def _settle(self, change: Fix, found: Reported, asked: list[Reported]) -> Fix:
        if change.kind in ("cut", "add"):
            if change.kind == "add" and found.deployment is not None:
                self._alone(change)
            return change
        place = self._document.places.get(change.path)
        if change.path[:1] != ("defaults",) and (place is None or not place.shared):
            return change
        against = self._against(change, asked)
        if against and change.kind == "set" and place is not None and place.origin is not None:
            here = replace(change, at_alias=True)
            if not self._against(here, asked):
                return here
        if against:
            others = self._named(against, found)
            raise EditRefused(
                f"{show_path(change.path)} is shared with {others}, where nothing asks for the change"
            )
        self._keep_anchor(change)
        return change

    def _against(self, change: Fix, asked: Iterable[Reported]) -> list[Reader]:
        """The readers of the text that did not ask for this very change."""
        paths = self._reach.of(change)
        inside = {path: _inside(path) for path in paths}
        agreed: set[Reader] = set()
        for found in asked:
            fix = found.finding.fix
            assert fix is not None
            for each in (fix, *fix.also):
                if (each.kind, each.text) != (change.kind, change.text) or each.path not in inside:
                    continue
                if found.deployment is not None:
                    agreed.add((found.deployment, each.path))
                    continue
                # What the schema says of one path holds for the same setting of every deployment.
                same = [path for path in paths if inside[path] == inside[each.path]]
                agreed |= {reader for path in same for reader in self._readers_of(path)}
        return [reader for path in paths for reader in self._readers_of(path) if reader not in agreed]

    def _readers_of(self, path: KeyPath) -> list[Reader]:
        if path[:1] not in (("deployments",), ("defaults",)):
            return [(None, path)]
        return [(name, path) for name in sorted(self._readers.get(path, ()))]

    def _named(self, readers: Iterable[Reader], found: Reported) -> str:
        """Other deployments by name; what this one, or the file, reads elsewhere by its path."""
        names = [
            name if name is not None and name != found.deployment else show_path(path)
            for name, path in readers
        ]
        names = list(dict.fromkeys(names))
        more = len(names) - MOST_NAMED
        return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

    def _keep_anchor(self, change: Fix) -> None:
        """A value does not go while aliases elsewhere name it."""
        place = self._document.places.get(change.path)
        if change.kind != "remove" or place is None or place.origin is not None:
            return
        going = self._reach.of(change)
        using = [path for path in self._reach.of(replace(change, kind="set")) if path not in going]
        if using:
            raise EditRefused(f"{show_path(using[0])} reads its value through an anchor")

    def _alone(self, change: Fix) -> None:
        """A key is added to a block that this deployment alone reads."""
        parent = change.path[:-1]
        while parent and parent not in self._document.places:
            parent = parent[:-1]
        place = self._document.places.get(parent)
        if parent[:1] == ("defaults",) or (place is not None and place.shared):
            raise EditRefused(f"{show_path(parent)} is shared with other deployments")


def _inside(path: KeyPath) -> KeyPath:
    """``path`` without the deployment, or the defaults, that it is in."""
    return path[2:] if path[:1] == ("deployments",) else path[1:] if path[:1] == ("defaults",) else path
