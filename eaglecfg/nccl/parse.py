"""What NCCL takes the text of a variable as."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eaglecfg.nccl.facts import VariableFact, variable_fact
from eaglecfg.nccl.integers import parse_integer
from eaglecfg.nccl.lists import ELEMENTS, read_list
from eaglecfg.nccl.parsed import Parsed, Problem
from eaglecfg.nccl.version import PREFIXES_SINCE, at_least
from eaglecfg.nccl.words import (
    parse_kernel,
    parse_level,
    parse_netdevs,
    parse_network,
    parse_policy,
    parse_subsystems,
    parse_thresholds,
    parse_word,
)

__all__ = ["Parsed", "Problem", "parse"]


def parse(name: str, text: str, version: str) -> Parsed:
    """What NCCL ``version`` takes ``text`` of the variable ``name`` as. Never raises.

    A variable without facts, or of a kind that only the machine can check (paths, plug-ins, devices), is
    taken as it is.
    """
    fact = variable_fact(name)
    if fact is None:
        return Parsed(name, text, text, text)
    if text == "":
        return _empty(fact, version)
    reader = _READERS.get(fact.kind)
    return reader(fact, text, version) if reader is not None else Parsed(name, text, text, text)


def _empty(fact: VariableFact, version: str) -> Parsed:
    default = fact.get("default", "its default")
    if fact.kind == "list" and not at_least(version, PREFIXES_SINCE):
        shown, taken = (
            "a list that allows nothing",
            read_list("", ELEMENTS[fact.get("elements")], prefixes=False),
        )
        return Parsed(fact.name, "", taken, shown, (Problem("empty", shown, "a list"),))
    shown = f"not set ({default})"
    return Parsed(fact.name, "", None, shown, (Problem("empty", shown, "a value, or no such line"),))


def _list(fact: VariableFact, text: str, version: str) -> Parsed:
    prefixes = at_least(version, PREFIXES_SINCE)
    elements = ELEMENTS[fact.get("elements")]
    allowed = read_list(text, elements, prefixes=prefixes)
    problems = tuple(
        Problem(trouble.fault, _LIST_OUTCOME[trouble.fault](prefixes), ", ".join(elements), trouble.part)
        for trouble in allowed.troubles
    )
    return Parsed(fact.name, text, allowed, text, problems)


def _stops(_: bool) -> str:
    return "NCCL stops at initialisation"


def _stops_or_drops(prefixes: bool) -> str:
    return "NCCL stops at initialisation" if prefixes else "NCCL drops it without a word"


_LIST_OUTCOME: Mapping[str, Callable[[bool], str]] = {
    "element": _stops_or_drops,
    "space": _stops_or_drops,
    "caret": _stops_or_drops,
    "collective": _stops,
    "entry": _stops,
    "colon": lambda _: "NCCL drops what follows the second colon, without a word",
    "prefix": lambda _: "NCCL before 2.24 knows no collectives here and drops the names that it cannot read",
}

_READERS: Mapping[str, Callable[[VariableFact, str, str], Parsed]] = {
    "int": parse_integer,
    "list": _list,
    "level": parse_level,
    "word": parse_word,
    "subsystems": parse_subsystems,
    "thresholds": parse_thresholds,
    "policy": parse_policy,
    "kernel": parse_kernel,
    "net": parse_network,
    "netdevs": parse_netdevs,
}
