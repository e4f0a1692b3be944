"""Which pairs of algorithm and protocol NCCL_ALGO and NCCL_PROTO leave, collective by collective."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from eaglecfg.nccl.lists import ALGORITHMS, COLLECTIVES, PROTOCOLS, Allowed
from eaglecfg.nccl.version import FORCED_SINCE, at_least

_SIMPLE = frozenset(("Simple",))
_ALL = frozenset(PROTOCOLS)
SUPPORT: Mapping[str, Mapping[str, frozenset[str]]] = {
    "Ring": dict.fromkeys(COLLECTIVES, _ALL),
    "Tree": {"AllReduce": _ALL},
    "CollNetDirect": dict.fromkeys(("AllReduce", "AllGather", "ReduceScatter"), _SIMPLE),
    "CollNetChain": {"AllReduce": _SIMPLE},
    "NVLS": dict.fromkeys(("AllReduce", "AllGather", "ReduceScatter"), _SIMPLE),
    "NVLSTree": {"AllReduce": _SIMPLE},
    "PAT": dict.fromkeys(("AllGather", "ReduceScatter"), _SIMPLE),
}
"""Algorithm -> collective -> protocols it is written for (src/graph/tuning.cc)."""


@dataclass(frozen=True, slots=True)
class Left:
    """What one collective is left with. ``idle``: listed algorithms that cannot act, with the reason."""

    collective: str
    algorithms: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    idle: Mapping[str, str]


def left_for(
    collective: str,
    algorithms: Allowed | None,
    protocols: Allowed | None,
    barred: Mapping[str, str],
) -> Left:
    """The pairs that ``collective`` may use. ``barred``: algorithms that cannot run here -> why."""
    asked = algorithms.of(collective) if algorithms is not None else None
    named = asked if asked is not None else frozenset(ALGORITHMS)
    allowed = protocols.of(collective) if protocols is not None else None
    pairs: set[tuple[str, str]] = set()
    idle: dict[str, str] = {}
    for algorithm in named:
        written = SUPPORT[algorithm].get(collective, frozenset())
        usable = written & (allowed if allowed is not None else _ALL)
        if not written:
            idle[algorithm] = f"{algorithm} does no {collective}"
        elif algorithm in barred:
            idle[algorithm] = barred[algorithm]
        elif not usable:
            idle[algorithm] = f"{algorithm} runs {' or '.join(sorted(written))} only"
        else:
            pairs |= {(algorithm, protocol) for protocol in usable}
    return Left(collective, named, frozenset(pairs), idle if asked is not None else {})


def without_algorithm(
    algorithms: Allowed | None, protocols: Allowed | None, barred: Mapping[str, str], version: str
) -> tuple[Left, ...]:
    """The collectives that are left with no pair at all: the first such call fails (2.24 and later)."""
    out = [left_for(one, algorithms, protocols, barred) for one in COLLECTIVES]
    empty = [left for left in out if not left.pairs]
    forced = protocols is not None and protocols.general and at_least(version, FORCED_SINCE)
    if forced and algorithms is not None and not algorithms.general:
        reason = f"NCCL {FORCED_SINCE} and later gives collectives that NCCL_ALGO does not name no algorithm"
        lost = {left.collective for left in empty}
        for one in unnamed_by(algorithms):
            if one not in lost:
                empty.append(Left(one, frozenset(), frozenset(), {"": reason}))
    return tuple(empty)


def unnamed_by(allowed: Allowed) -> Collection[str]:
    """The collectives that a text does not name."""
    return [one for one in COLLECTIVES if allowed.of(one) is None]
