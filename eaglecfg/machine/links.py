"""How the GPUs are joined, and the word for it that the hardware block has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any, Literal

from eaglecfg.machine.gpus import Gpu, bus_of
from eaglecfg.machine.nvml import Nvml
from eaglecfg.record import record

Topology = Literal["single", "nvswitch", "nvlink-pair", "pcie"]

MOST_LINKS = 36
"""NVLinks of one GPU that NVML can number (NVML_NVLINK_MAX_LINKS)."""
TO_GPU, TO_SWITCH = 0, 2
"""NVML_NVLINK_DEVICE_TYPE_GPU and _SWITCH; a link may also end in a CPU or at something unknown."""
READ, WRITE, NVLINK = 0, 1, 2
"""Indices of nvmlDeviceGetP2PStatus; pynvml's own name for the first is a tuple by mistake."""

P2P = {
    0: "ok",
    1: "chipset not supported",
    2: "GPU not supported",
    3: "not possible between these PCIe roots",
    4: "disabled by the driver's registry",
    5: "not supported",
    6: "unknown",
}
PATHS = {0: "same board", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""NVML's levels in the words of nvidia-smi topo: one PCIe switch, several, one host bridge, one NUMA node,
across NUMA nodes."""


@record
class Ports:
    """The active NVLinks of one GPU: how many, whether they end in a switch, and at which devices (bus id,
    once for each link; empty where it is not told). None: not told."""

    active: int | None
    switched: bool | None
    peers: tuple[str, ...]


@record
class Pair:
    """Two GPUs by index. ``nvlink``: one NVLink hop joins them, directly or through a switch; ``direct``: the
    number of links between them; ``switched``: they meet in a switch; ``p2p``: ``ok``, or why not; ``path``:
    the way over PCIe. None: not told."""

    first: int
    second: int
    nvlink: bool | None
    direct: int
    switched: bool | None
    p2p: str | None
    path: str | None


@record
class Links:
    """All pairs, and the topology with its reason. ``topology`` None: not decided, ``why`` says what was in
    the way."""

    pairs: tuple[Pair, ...]
    topology: Topology | None
    why: str


def read_links(nvml: Nvml, gpus: Collection[Gpu]) -> Links:
    """The links between these GPUs."""
    of = {gpu.index: gpu for gpu in gpus}
    devices = [(index, handle) for index, _, handle in nvml.devices() if index in of]
    ports = {index: _ports(nvml, handle, of[index].fabric) for index, handle in devices}
    buses = {index: of[index].bus for index, _ in devices}
    pairs = []
    for (first, one), (second, other) in combinations(devices, 2):
        direct = ports[first].peers.count(buses[second]) if buses[second] else 0
        said = nvml.ask("DeviceGetP2PStatus", one, other, NVLINK)
        switched = _switched(ports[first], ports[second], direct, said)
        pairs.append(
            Pair(
                first,
                second,
                _joined(said, direct, switched, ports[first], ports[second]),
                direct,
                switched,
                _p2p(nvml, one, other),
                PATHS.get(nvml.ask("DeviceGetTopologyCommonAncestor", one, other)),
            )
        )
    return Links(tuple(pairs), *classify(len(devices), pairs))


def classify(count: int, pairs: Sequence[Pair]) -> tuple[Topology | None, str]:
    """The topology of ``count`` GPUs with these pairs, and why it is that."""
    if count < 2:
        return ("single", "one GPU") if count else (None, "no GPU is visible")
    unknown = [pair for pair in pairs if pair.nvlink is None]
    if unknown:
        first = unknown[0]
        return None, f"the driver does not say how GPU {first.first} and GPU {first.second} are linked"
    linked = [pair for pair in pairs if pair.nvlink]
    if not linked:
        return "pcie", "no NVLink between any two GPUs"
    if len(linked) == len(pairs):
        if all(pair.switched for pair in pairs):
            return "nvswitch", "NVLink joins every pair through switches"
        if count == 2 and linked[0].switched is None:
            return "nvlink-pair", "NVLink joins the two GPUs; whether through a switch was not told"
        if count == 2:
            return "nvlink-pair", f"{_count(linked[0].direct, 'NVLink')} between the two GPUs, no switch"
        told = any(pair.switched is False for pair in pairs)
        return "nvswitch", "NVLink joins every pair in one hop" + (
            ", though without a switch" if told else ""
        )
    partners = {index: 0 for pair in pairs for index in (pair.first, pair.second)}
    for pair in linked:
        partners[pair.first] += 1
        partners[pair.second] += 1
    if max(partners.values()) == 1:
        return "nvlink-pair", f"NVLink joins {_count(len(linked), 'pair')} of GPUs, PCIe the rest"
    return "nvlink-pair", (
        f"NVLink joins {len(linked)} of {len(pairs)} pairs; the block has no closer word, and for the engine "
        "only all pairs or not all pairs counts"
    )


def _ports(nvml: Nvml, handle: Any, fabric: str | None) -> Ports:
    active, told, kinds, peers = 0, False, set(), []
    for link in range(MOST_LINKS):
        state = nvml.ask("DeviceGetNvLinkState", handle, link)
        told |= state is not None
        if not state:
            continue
        active += 1
        kinds.add(nvml.ask("DeviceGetNvLinkRemoteDeviceType", handle, link))
        peers.append(bus_of(nvml.ask("DeviceGetNvLinkRemotePciInfo", handle, link)))
    kinds &= {TO_GPU, TO_SWITCH}
    # Only machines with switches have a fabric; virtual ones hide the far ends of the links.
    switched = TO_SWITCH in kinds if kinds else True if active and fabric is not None else None
    return Ports(active if told else None, switched, tuple(peers))


def _switched(one: Ports, other: Ports, direct: int, said: Any) -> bool | None:
    if direct:
        return False
    if one.switched is not None and other.switched is not None:
        return one.switched and other.switched
    if 0 in (one.active, other.active):
        return False
    # Where the far ends are told and none is the other GPU, one hop of NVLink takes a switch.
    return True if said == 0 and all(one.peers) and all(other.peers) and one.peers else None


def _joined(said: Any, direct: int, switched: bool | None, one: Ports, other: Ports) -> bool | None:
    """NVML's word on P2P over NVLink counts first: a switch may be partitioned, and a link alone is none."""
    if said is not None and said != 6:
        return bool(said == 0) or direct > 0
    if direct or switched:
        return True
    return False if 0 in (one.active, other.active) else None


def _p2p(nvml: Nvml, one: Any, other: Any) -> str | None:
    states = [nvml.ask("DeviceGetP2PStatus", one, other, index) for index in (READ, WRITE)]
    told = [state for state in states if state is not None]
    return P2P.get(max(told), "unknown") if told else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
