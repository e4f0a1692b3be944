"""From what was remembered to what is reported."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import BinaryIO

from eaglecfg.nccl.log.collect import Collector
from eaglecfg.nccl.log.disagreements import disagreements
from eaglecfg.nccl.log.facts import data_type
from eaglecfg.nccl.log.lines import raw_lines
from eaglecfg.nccl.log.model import (
    Calls,
    Choice,
    Communicator,
    Cost,
    Edge,
    File,
    Member,
    NcclLog,
    Process,
    Refused,
    Taken,
    Threads,
    Warned,
)
from eaglecfg.nccl.log.state import Comm, State


def read_log(streams: Iterable[tuple[str, BinaryIO]], *, subsystems: Collection[str] = ()) -> NcclLog:
    """What these files say, read line by line in bounded memory.

    ``streams``: name and binary stream of each, read to their ends in turn. ``subsystems``: what
    NCCL_DEBUG_SUBSYS is known to have been, where it is. Never raises for what a log holds; OSError where a
    stream cannot be read.
    """
    collector = Collector()
    files = []
    for name, stream in streams:
        lines = size = found = 0
        for raw in raw_lines(stream):
            lines += 1
            size += len(raw) + 1
            found += collector.line(raw)
        files.append(File(name, size, lines, found))
    return summarised(collector.state, files, frozenset(subsystems))


def summarised(state: State, files: Sequence[File], declared: frozenset[str] = frozenset()) -> NcclLog:
    """The report of a state."""
    communicators = _communicators(state.comms)
    ranks = {comm.id: comm.ranks_total for comm in communicators}
    processes = tuple(
        Process(
            one.host,
            one.pid,
            tuple(sorted(one.devices)),
            one.messages,
            {name: tuple(values) for name, values in sorted(one.environment.items())},
        )
        for one in state.processes.values()
    )
    calls = _calls(state)
    choices = _choices(state, ranks)
    return NcclLog(
        files=tuple(files),
        versions=tuple(state.versions),
        processes=processes,
        communicators=communicators,
        environment=_environment(processes),
        refused=tuple(Refused(*key, count) for key, count in state.refused.items()),
        edges=_edges(state),
        costs=tuple(Cost(*key, *value) for key, value in state.costs.items()),
        threads=tuple(Threads(*key, value) for key, value in state.max_threads.items()),
        enabled=tuple(state.matrix.rows.values()),
        choices=choices,
        calls=calls,
        warnings=tuple(
            Warned(one.text, one.where, one.count, one.host, one.pid) for one in state.warnings.values()
        ),
        disagreements=disagreements(communicators, state.comms, processes, calls, state),
        multicast=None if not state.multicast else state.multicast == {True},
        networks=tuple(state.networks),
        tuners=tuple(state.tuners),
        subsystems=frozenset(state.seen) | declared,
        levels=frozenset(state.levels),
        cut=state.cut,
        dropped=state.dropped + state.choices.left_out + state.calls.left_out + state.edges.left_out,
    )


def name_of(comm: Comm) -> str:
    """The name under which a communicator is reported."""
    return comm.id or f"{comm.host}:{comm.pid}:{comm.pointer}"


def _communicators(comms: Sequence[Comm]) -> tuple[Communicator, ...]:
    groups: dict[str, list[Comm]] = {}
    for comm in comms:
        groups.setdefault(name_of(comm), []).append(comm)
    out = []
    for ident, group in groups.items():
        members = {
            comm.rank: Member(comm.rank, comm.host, comm.pid, comm.device, comm.bus_id, comm.complete)
            for comm in group
        }
        out.append(
            Communicator(
                ident,
                group[0].ranks,
                tuple(members[rank] for rank in sorted(members)),
                next((comm.channels for comm in group if comm.channels is not None), None),
                next((comm.nodes for comm in group if comm.nodes is not None), None),
                next((comm.thresholds for comm in group if comm.thresholds), ""),
                group[0].made_by,
            )
        )
    return tuple(out)


def _environment(processes: Sequence[Process]) -> dict[str, tuple[Taken, ...]]:
    counts: dict[str, dict[str, int]] = {}
    for process in processes:
        for name, values in process.environment.items():
            for value in values:
                held = counts.setdefault(name, {})
                held[value] = held.get(value, 0) + 1
    return {
        name: tuple(Taken(value, count) for value, count in counts[name].items()) for name in sorted(counts)
    }


def _edges(state: State) -> tuple[Edge, ...]:
    pairs: dict[tuple[str | None, str], set[tuple[int, int]]] = {}
    lines: dict[tuple[str | None, str], int] = {}
    for (ident, kind, start, end), counts in state.edges.counts.items():
        pairs.setdefault((ident, kind), set()).add((start, end))
        lines[ident, kind] = lines.get((ident, kind), 0) + sum(counts.values())
    return tuple(Edge(*key, len(found), lines[key]) for key, found in pairs.items())


def _choices(state: State, ranks: dict[str, int]) -> tuple[Choice, ...]:
    out = []
    for key, counts in state.choices.counts.items():
        ident, function, size, algorithm, protocol, span, cluster, kernel, threads, engine = key
        out.append(
            Choice(
                function,
                size,
                algorithm,
                protocol,
                span,
                cluster,
                kernel,
                threads,
                engine,
                ident,
                ranks.get(ident) if ident is not None else None,
                sum(counts.values()),
                len(counts),
            )
        )
    return tuple(sorted(out, key=lambda one: (one.function, one.bytes, one.communicator or "", one.shown)))


def _calls(state: State) -> tuple[Calls, ...]:
    out = []
    for (ident, function, code, count), ranks in state.calls.counts.items():
        known = data_type(code)
        by_rank = dict(sorted(ranks.items()))
        out.append(
            Calls(
                ident,
                function,
                known[0] if known else f"type {code}",
                count,
                count * known[1] if known else None,
                by_rank,
            )
        )
    return tuple(sorted(out, key=lambda one: (one.function, one.bytes or 0, one.communicator or "")))
