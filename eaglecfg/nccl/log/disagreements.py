"""Ranks of one communicator that must agree and do not."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.nccl.log.model import Calls, Communicator, Disagreement, Process
from eaglecfg.nccl.log.state import Comm, State

_OWN = frozenset(
    (
        "NCCL_HOSTID",
        "NCCL_COMM_ID",
        "NCCL_SOCKET_IFNAME",
        "NCCL_OOB_NET_IFNAME",
        "NCCL_IB_HCA",
        "NCCL_TOPO_DUMP_FILE",
        "NCCL_GRAPH_DUMP_FILE",
        "NCCL_TOPO_FILE",
        "NCCL_DEBUG_FILE",
    )
)
"""Variables that may differ from node to node."""
_ONE_SIDED = frozenset(("Send", "Recv", "Put", "PutSignal", "Signal", "WaitSignal"))
MOST = 50
"""Reported of each kind."""


def disagreements(
    communicators: Sequence[Communicator],
    comms: Sequence[Comm],
    processes: Sequence[Process],
    calls: Sequence[Calls],
    state: State,
) -> tuple[Disagreement, ...]:
    """Different values of a variable, numbers of channels, choices and numbers of calls."""
    by_key = {(one.host, one.pid): one for one in processes}
    out: list[Disagreement] = []
    said: set[str] = set()
    for group in communicators:
        members = [by_key[member.host, member.pid] for member in group.members]
        for one in _environment(group, members):
            if one.text not in said:  # the same processes share several communicators
                said.add(one.text)
                out.append(one)
    out += _channels(comms)
    out += _choices(state)
    out += _calls(communicators, calls)
    return tuple(out)


def _environment(group: Communicator, members: Sequence[Process]) -> list[Disagreement]:
    out = []
    names = sorted({name for member in members for name in member.environment} - _OWN)
    for name in names:
        values: dict[str, list[int]] = {}
        for member, process in zip(group.members, members, strict=True):
            for value in process.environment.get(name, ()):
                values.setdefault(value, []).append(member.rank)
        if len(values) > 1:
            parts = [f"{value} on {_ranks(ranks)}" for value, ranks in values.items()]
            out.append(Disagreement("environment", group.id, f"{name} is {', '.join(parts)}"))
    return out[:MOST]


def _channels(comms: Sequence[Comm]) -> list[Disagreement]:
    groups: dict[str, dict[int, list[int]]] = {}
    for comm in comms:
        if comm.id and comm.channels is not None:
            groups.setdefault(comm.id, {}).setdefault(comm.channels.collective, []).append(comm.rank)
    out = []
    for ident, counts in groups.items():
        if len(counts) > 1:
            parts = [f"{count} channels on {_ranks(ranks)}" for count, ranks in counts.items()]
            out.append(Disagreement("channels", ident, ", ".join(parts)))
    return out[:MOST]


def _choices(state: State) -> list[Disagreement]:
    """Choices that differ from process to process, where more than one says its own."""
    groups: dict[tuple[str, str, int], dict[int, set[str]]] = {}
    for key, counts in state.choices.counts.items():
        ident, function, size, algorithm, protocol, _, _, kernel, _, engine = key
        if ident is not None:
            for process in counts:
                held = groups.setdefault((ident, function, size), {}).setdefault(process, set())
                held.add(kernel or engine or f"{algorithm} {protocol}")
    out = []
    for (ident, function, size), by_process in groups.items():
        kinds = {tuple(sorted(one)) for one in by_process.values()}
        if len(kinds) > 1:
            shown = " / ".join(sorted(" and ".join(kind) for kind in kinds))
            out.append(
                Disagreement("choice", ident, f"{function} of {size} bytes differs between ranks: {shown}")
            )
    return out[:MOST]


def _calls(communicators: Sequence[Communicator], calls: Sequence[Calls]) -> list[Disagreement]:
    """Ranks that called a collective more often than others: only told where the log has every rank."""
    whole = {group.id: group for group in communicators if len(group.members) == group.ranks_total}
    out = []
    for one in calls:
        group = whole.get(one.communicator or "")
        if group is None or one.function in _ONE_SIDED or group.ranks_total < 2:
            continue
        counts = {member.rank: one.by_rank.get(member.rank, 0) for member in group.members}
        if len(set(counts.values())) > 1:
            by_count: dict[int, list[int]] = {}
            for rank, count in counts.items():
                by_count.setdefault(count, []).append(rank)
            parts = [f"{count} times on {_ranks(ranks)}" for count, ranks in sorted(by_count.items())]
            out.append(
                Disagreement(
                    "calls", group.id, f"{one.function} of {one.count} {one.datatype}: {', '.join(parts)}"
                )
            )
    return out[:MOST]


def _ranks(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}"
