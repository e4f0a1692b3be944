"""NCCL's own latency model of an all-reduce on one node: what it chooses by, not what a clock shows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from eaglecfg.nccl.gpus import Gpu
from eaglecfg.nccl.paths import Machine
from eaglecfg.schema_files import read_schema

CONSTANTS_SINCE = "2.23"
"""From this version on the constants are those of the facts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What NCCL expects of one algorithm and protocol, in microseconds. ``low`` and ``high`` differ by the
    bandwidth that a host of this topology may have: NCCL measures it at start."""

    algorithm: str
    protocol: str
    low: float
    high: float

    @property
    def name(self) -> str:
        """``Ring LL``."""
        return f"{self.algorithm} {self.protocol}"


@cache
def latency_table() -> Mapping[str, Any]:
    """The constants, with their source."""
    table: Mapping[str, Any] = read_schema("nccl", "latency.json")
    return table


def estimates(ranks: int, size: int, machine: Machine) -> tuple[Estimate, ...]:
    """Ring and Tree in LL, LL128 and Simple, and NVLS where NVSwitch joins more than two ranks, for ``size``
    bytes among ``ranks`` of one node. Empty where the topology is not declared."""
    if ranks < 2 or machine.topology not in latency_table()["bus"]:
        return ()
    at = [dict(_model(ranks, size, machine, point)) for point in _points(ranks, machine)]
    return tuple(
        Estimate(*pair, min(times[pair] for times in at), max(times[pair] for times in at)) for pair in at[0]
    )


def chosen(
    ranks: int, size: int, machine: Machine, pairs: Collection[tuple[str, str]]
) -> tuple[Estimate, ...]:
    """Those of the allowed ``pairs`` that NCCL may choose, whatever bandwidth it measured, the likeliest
    first. One entry: the choice is certain as far as the model goes."""
    found = {(each.algorithm, each.protocol): each for each in estimates(ranks, size, machine)}
    able = [pair for pair in found if pair in pairs]
    best: list[tuple[str, str]] = []
    for point in _points(ranks, machine) if able else ():
        times = dict(_model(ranks, size, machine, point))
        best.append(min(able, key=lambda pair: times[pair]))
    return tuple(found[pair] for pair in sorted(set(best), key=lambda pair: (-best.count(pair), pair)))


def off_by() -> tuple[tuple[str, float, float], ...]:
    """(protocol, what the model says, what was measured) for the measurement in the facts."""
    measured = latency_table()["measured"]
    machine = Machine(measured["topology"], Gpu(9.0))
    ring = {
        each.protocol: (each.low + each.high) / 2
        for each in estimates(measured["ranks"], measured["bytes"], machine)
        if each.algorithm == "Ring"
    }
    return tuple((name, ring[name], microseconds) for name, microseconds in measured["us"].items())


def _points(ranks: int, machine: Machine) -> tuple[tuple[float, float], ...]:
    """(bus bandwidth in GB/s, the part of it that Tree reaches): corners and middle of what is possible."""
    table = latency_table()
    # Pairs of bridged GPUs among more than two ranks meet over PCIe.
    slow, fast = table["bus"][machine.topology if machine.linked(ranks) else "pcie"]
    return tuple(itertools.product((slow, math.sqrt(slow * fast), fast), table["tree_bandwidth"]))


def _model(
    ranks: int, size: int, machine: Machine, point: tuple[float, float]
) -> Iterator[tuple[tuple[str, str], float]]:
    """((algorithm, protocol), microseconds) at one bandwidth. GB/s are 1000 bytes per microsecond."""
    table, (bus, part) = latency_table(), point
    steps, traffic = 2 * (ranks - 1), 2 * (ranks - 1) / ranks * size
    step = table["step"]["nvlink" if machine.linked(ranks) else "pcie"]
    for algorithm in ("Ring", "Tree"):
        for index, protocol in enumerate(table["protocols"]):
            rate = bus * table["share"][protocol] * (part if algorithm == "Tree" else 1.0)
            if protocol == "LL":
                rate = min(rate, _ll_most(machine.gpu))
            fixed = table["base"][algorithm][index] + steps * step[algorithm][index]
            yield (algorithm, protocol), fixed + traffic / (rate * 1000)
    if machine.topology == "nvswitch" and ranks > 2:
        yield ("NVLS", "Simple"), table["nvls"] + traffic / (bus * 1000)


def _ll_most(gpu: Gpu | None) -> float:
    if gpu is None:
        return float("inf")
    most = latency_table()["ll_most"]
    return float(most[str(min(max(gpu.major, 7), 10))])
