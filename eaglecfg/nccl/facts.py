"""Facts about NCCL's variables, its versions and its neighbours, from ``schemas/nccl``. Read at the first
use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from eaglecfg.nccl.version import at_least
from eaglecfg.schema_files import read_schema

Standing = Literal["there", "not yet", "gone", "open"]
"""Whether a version reads a variable; ``open`` between two versions of which only one does."""


@dataclass(frozen=True, slots=True)
class VariableFact:
    """One variable that NCCL reads.

    ``kind`` is how its text is read (``int``, ``list``, ``level``, ``word``, ``path``, ...), ``acts`` what
    it changes (``collective``, ``transport``, ``gather``, ``send``, ``network``, ``nvls``, ``symmetric``,
    ``memory``, ``graph``, ``topology``, ``start``, ``process``, ``debug``, ``other``). ``row`` is the
    whole entry of variables.json: ``values`` or ``range`` and what becomes of others (``outside``),
    ``default``, ``about``. ``source`` is a file of NVIDIA/nccl at v2.30.7-1.
    """

    name: str
    kind: str
    acts: str
    about: str
    source: str
    documented: bool = True
    row: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str, otherwise: Any = None) -> Any:
        """A detail of the entry, or ``otherwise``."""
        return self.row.get(key, otherwise)

    def standing(self, version: str) -> Standing:
        """Whether NCCL ``version`` reads the variable."""
        until, gone, absent = self.get("until"), self.get("gone_in"), self.get("absent_in")
        since = self.get("since") or (self.get("seen_in") if absent else None)
        if gone and at_least(version, gone):
            return "gone"
        if until and not at_least(until, version):
            return "gone"
        if since is None or at_least(version, since):
            return "there"
        return "open" if absent and not at_least(absent, version) else "not yet"

    @property
    def first(self) -> str:
        """The first version known to read it, empty where that is not known."""
        return str(self.get("since") or self.get("seen_in") or "")


@cache
def _tables() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_schema("nccl", "variables.json")
    return table


@cache
def related() -> Mapping[str, Any]:
    """Names beside NCCL's own: torch's, plug-ins', and those that are often written by mistake."""
    table: Mapping[str, Any] = read_schema("nccl", "related.json")
    return table


def variable_names() -> tuple[str, ...]:
    """Every variable that the facts know, sorted."""
    return tuple(_tables()["variables"])


def library_strings() -> frozenset[str]:
    """Strings of libnccl that look like variables and are none (log scopes, names of constants)."""
    return frozenset(_tables()["strings"])


@cache
def variable_fact(name: str) -> VariableFact | None:
    """The facts of one variable (``NCCL_ALGO``), None for a name that NCCL never read."""
    row = _tables()["variables"].get(name)
    if row is None:
        return None
    return VariableFact(
        name, row["kind"], row["acts"], row["about"], row["source"], row.get("documented", True), row
    )


def nccl_of_torch(torch: str) -> str | None:
    """The NCCL that a torch wheel brings (``2.14.1`` -> ``2.30.7``), None where that is not known."""
    table = read_schema("nccl", "versions.json")["torch"]
    found: str | None = table.get(torch.partition("+")[0].removeprefix("=="))
    return found
