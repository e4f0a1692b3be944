"""NCCL_ALGO and NCCL_PROTO: which algorithms and protocols a text allows, collective by collective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

COLLECTIVES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
ELEMENTS: Mapping[str, tuple[str, ...]] = {"algorithms": ALGORITHMS, "protocols": PROTOCOLS}

Fault = Literal["element", "space", "collective", "entry", "colon", "caret", "prefix"]
"""``element``: a name that is none; ``space``: white space in it; ``collective``: a prefix that is none;
``entry``: a later entry without a prefix; ``colon``: text after a second colon; ``caret``: ``^`` inside an
entry; ``prefix``: a prefix in a version that knows none."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing in the text that NCCL does not take as it is meant. ``part`` is that piece of the text."""

    fault: Fault
    part: str


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a text allows. ``by_collective`` holds the collectives that it sets, each with its elements;
    ``general`` is true where an entry without a prefix sets all. ``negated``: entries that began with
    ``^``."""

    by_collective: Mapping[str, frozenset[str]]
    general: bool
    troubles: tuple[Trouble, ...] = ()
    negated: tuple[str, ...] = ()
    sets: Mapping[str, str] = field(default_factory=dict)

    def of(self, collective: str) -> frozenset[str] | None:
        """The elements that the text allows for a collective, None where it leaves it alone."""
        return self.by_collective.get(collective)

    @property
    def named(self) -> bool:
        """Whether some entry names its collective."""
        return bool(self.sets) and any(self.sets.values())


def read_list(text: str, elements: tuple[str, ...], *, prefixes: bool) -> Allowed:
    """What NCCL takes from ``text``.

    ``prefixes``: NCCL 2.24 and later, where entries between semicolons may name a collective and an
    unknown name stops initialisation. Before, the whole text is one list, and unknown names are dropped
    without a word.
    """
    if not prefixes:
        return _one_list(text, elements)
    out: dict[str, frozenset[str]] = {}
    troubles: list[Trouble] = []
    negated: list[str] = []
    sets: dict[str, str] = {}
    general = False
    for index, entry in enumerate(part for part in text.split(";") if part):
        fields = [part for part in entry.split(":") if part]
        if not fields:
            continue
        if len(fields) > 2:
            troubles.append(Trouble("colon", ":" + ":".join(fields[2:])))
        prefix, names = (fields[0], fields[1]) if len(fields) > 1 else ("", fields[0])
        if not prefix and index:
            troubles.append(Trouble("entry", entry))
            continue
        general |= not prefix
        sets[entry] = prefix
        if names.startswith("^"):
            negated.append(entry)
        found = _names(names, elements, troubles)
        which = [one for one in COLLECTIVES if not prefix or one.lower() == prefix.lower()]
        if not which:
            fault: Fault = "space" if prefix != prefix.strip() else "collective"
            troubles.append(Trouble(fault, prefix))
        for collective in which:
            out[collective] = found
    return Allowed(out, general, tuple(troubles), tuple(negated), sets)


def _one_list(text: str, elements: tuple[str, ...]) -> Allowed:
    troubles: list[Trouble] = []
    if ":" in text or ";" in text:
        troubles.append(Trouble("prefix", text))
    found = _names(text, elements, troubles if not troubles else [])
    negated = (text,) if text.startswith("^") else ()
    return Allowed(dict.fromkeys(COLLECTIVES, found), True, tuple(troubles), negated, {text: ""})


def _names(text: str, elements: tuple[str, ...], troubles: list[Trouble]) -> frozenset[str]:
    """The elements that one list allows; what is none goes to ``troubles``."""
    inverted = text.startswith("^")
    known = {element.lower(): element for element in elements}
    listed: set[str] = set()
    for name in (part for part in text.removeprefix("^").split(",") if part):
        element = known.get(name.lower())
        if element is not None:
            listed.add(element)
        elif name.strip().lower() in known or (name != name.strip() and not name.strip()):
            troubles.append(Trouble("space", name))
        elif name.startswith("^"):
            troubles.append(Trouble("caret", name))
        else:
            troubles.append(Trouble("element", name))
    return frozenset(elements) - listed if inverted else frozenset(listed)
