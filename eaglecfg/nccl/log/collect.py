"""Reads NCCL's messages one by one into a ``State``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from eaglecfg.nccl.log.facts import algorithms, data_type, forms, log_facts, protocols
from eaglecfg.nccl.log.lines import Message, mentions, messages, plain_text
from eaglecfg.nccl.log.model import Channels, Enabled
from eaglecfg.nccl.log.state import (
    MOST_KINDS,
    MOST_PROCESSES,
    MOST_VALUES,
    MOST_WARNINGS,
    Comm,
    ProcessState,
    State,
    WarnedState,
)

_Found = re.Match[str]

_STRONG = frozenset((": opCount ", " Bytes -> Algo ", " [Symmetric]: ", "- Init ", " set by environment to "))
"""Needles that stand in no other line: one that does not fit its form was cut."""
_PRINTED_BY: Mapping[str, str] = {
    "set": "ENV",
    "config": "ENV",
    "matrix": "ENV",
    "choice": "TUNING",
    "symmetric": "TUNING",
    "copy": "TUNING",
    "costs": "TUNING",
    "call": "COLL",
    "init": "INIT",
    "channels": "INIT",
    "shape": "INIT",
    "pattern": "GRAPH",
}
_GATHERS = frozenset(("AllGather", "ReduceScatter"))
_MOST_RECENT = 4096
_MOST_CHANNELS = 4096
"""More channels, threads of a block or blocks of a cluster no NCCL has: what says so was damaged."""
_MOST_BYTES = 1 << 62
"""No message is longer: such a number is what two lines in one another made."""
_MATRIX_PATIENCE = 200
"""Lines after the matrix's own in which its rows are looked for: other processes write in between."""

_ID = re.compile(r"\bcommId (0x[0-9a-f]+)")
_PARENT = re.compile(r"\bparent (0x[0-9a-f]+) (?:\w+ (\d+) )?color (-?\d+)")
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")
_MATRIX_HEAD = re.compile(r"\bFunction \|\s+(\S[^|]*?)\s*\|\s*(\S[^|]*?)\s*$")
_MATRIX_ROW = re.compile(
    r"\b(Broadcast|Reduce|AllGather|ReduceScatter|AllReduce) \|((?:\s+\d){1,8})\s*\|((?:\s+\d){1,16})\s*$"
)


class Collector:
    """Takes lines; ``state`` is what they said so far."""

    def __init__(self) -> None:
        self.state = State()
        self._last: tuple[tuple[str, int], ProcessState] | None = None
        self._said_levels = frozenset(log_facts()["levels_said"])

    def line(self, raw: bytes) -> int:
        """Read one line; how many of NCCL's messages it held."""
        if b"NCCL" not in raw:
            if self.state.matrix.expected:
                self._matrix_row(plain_text(raw))
            return 0
        text = plain_text(raw)
        count = 0
        for message in messages(text):
            count += 1
            self._message(message)
        if not count:
            count = self._headless(text)
        return count

    def _headless(self, text: str) -> int:
        """The version line at NCCL_DEBUG=VERSION has no head; other pieces are what a cut left."""
        if text.startswith("NCCL version "):
            self._dispatch(text.strip(), None, 0)
            return 1
        self.state.cut += mentions(text)
        return 0

    def _message(self, message: Message) -> None:
        process = self._process(message)
        process.messages += 1
        if message.device >= 0:
            process.devices.add(message.device)
        self.state.levels.add(message.level)
        if message.level == "WARN":
            self._warn(message)
        self._dispatch(message.text, process, message.tid)

    def _process(self, message: Message) -> ProcessState:
        key = (message.host, message.pid)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        processes = self.state.processes
        found = processes.get(key)
        if found is None:
            # A line that was cut by another process's line glues its end to that one's host name.
            same = [at for at in processes if at[1] == key[1] and key[0].endswith(at[0])]
            found = processes[same[0]] if same else None
        if found is None:
            found = ProcessState(len(processes), *key)
            if len(processes) < MOST_PROCESSES:
                processes[key] = found
            else:
                self.state.dropped += 1
        self._last = (key, found)
        return found

    def _dispatch(self, text: str, process: ProcessState | None, tid: int) -> None:
        cut = False
        for form in forms():
            if form.needle not in text:
                continue
            found = form.pattern.search(text)
            if found is None:
                cut |= form.needle in _STRONG
                continue
            if form.name in _PRINTED_BY and found.groupdict().get("name") not in self._said_levels:
                self.state.seen.add(_PRINTED_BY[form.name])
            if form.name == "version":
                self.state.versions[found["version"]] = None
            elif process is not None:
                _HANDLERS[form.name](self.state, process, tid, found)
            return
        self.state.cut += cut

    def _warn(self, message: Message) -> None:
        key = f"{message.where} {_NUMBERS.sub('#', message.text)}"
        kept = self.state.warnings.get(key)
        if kept is not None:
            kept.count += 1
        elif len(self.state.warnings) < MOST_WARNINGS:
            self.state.warnings[key] = WarnedState(message.text, message.where, message.host, message.pid)
        else:
            self.state.dropped += 1

    def _matrix_row(self, text: str) -> None:
        matrix = self.state.matrix
        matrix.expected -= 1
        head = _MATRIX_HEAD.search(text)
        if head is not None:
            known = protocols()
            matrix.protocols = [known.get(name, name) for name in head[1].split()]
            matrix.algorithms = head[2].split()
            return
        row = _MATRIX_ROW.search(text)
        if row is not None and matrix.protocols:
            by_protocol, by_algorithm = row[2].split(), row[3].split()
            matrix.rows[row[1]] = Enabled(
                row[1],
                dict(zip(matrix.protocols, map(int, by_protocol), strict=False)),
                dict(zip(matrix.algorithms, map(int, by_algorithm), strict=False)),
            )


def _set(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    name, value = found["name"], found["value"]
    if re.fullmatch(r"-?\d+\.", value):
        value = value[:-1]  # the line about whole numbers is a sentence with its full stop
    _take(state, process, name, value)


def _config(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    name = found["name"] or found["name2"]
    value = found["value"] if found["name"] else found["value2"]
    _take(state, process, log_facts()["config_names"].get(name, name), value)


def _take(state: State, process: ProcessState, name: str, value: str) -> None:
    values = process.environment.setdefault(name, []) if len(process.environment) < 2000 else []
    if value not in values:
        if len(values) < MOST_VALUES:
            values.append(value)
        else:
            state.dropped += 1


def _refused(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    groups = found.groupdict()
    name = groups.get("name") or log_facts()["config_variables"].get(groups.get("config") or "", "")
    if not name and "CTA policy" in found[0]:
        name = "NCCL_CTA_POLICY"
    key = (name, groups.get("value") or "", found[0])
    if key in state.refused or len(state.refused) < MOST_WARNINGS:
        state.refused[key] = state.refused.get(key, 0) + 1
    else:
        state.dropped += 1


def _init(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    pointer = found["comm"]
    comm = process.by_pointer.get(pointer)
    if comm is None or (found["state"] == "START" and comm.complete):
        comm = Comm(
            pointer,
            process.host,
            process.pid,
            int(found["rank"]),
            int(found["nranks"]),
            int(found["device"]),
            found["bus"],
            _identity(process, found["rest"]),
            found["call"],
        )
        if len(process.by_pointer) < MOST_PROCESSES and len(state.comms) < MOST_PROCESSES * 4:
            process.by_pointer[pointer] = comm
            state.comms.append(comm)
        else:
            state.dropped += 1
    if found["state"] == "START":
        process.threads[tid] = comm
    else:
        comm.complete = True
        # From here on the thread may speak about any communicator of the process.
        process.threads.pop(tid, None)


def _identity(process: ProcessState, rest: str) -> str:
    """The commId; of a split that has none, what its ranks share: the parent's, number and colour."""
    own = _ID.search(rest)
    if own is not None:
        return own[1]
    split = _PARENT.search(rest)
    if split is None:
        return ""
    parent = process.by_pointer.get(split[1])
    return f"{parent.id}/{split[2] or 0}.{split[3]}" if parent is not None and parent.id else ""


def _shape(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    comm = process.by_pointer.get(found["comm"])
    if comm is not None:
        comm.nodes = int(found["nodes"])


def _channels(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    comm = process.comm(tid)
    numbers = [int(found[name]) for name in ("coll", "collnet", "nvls", "p2p", "per_peer")]
    if max(numbers) > _MOST_CHANNELS:
        state.cut += 1
    elif comm is not None:
        comm.channels = Channels(*numbers)


def _thresholds(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    comm = process.comm(tid)
    if comm is not None:
        comm.thresholds = found["values"].strip()


def _edge(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    if found["way"] == "receive":
        return  # the other end of what some rank sends
    kind, how = found["kind"], found["how"]
    if kind == "NET":
        parts = how.split("/")
        how = parts[0] + ("/GDRDMA" if "GDRDMA" in parts else "")
    elif how.startswith("indirect/"):
        how = "indirect"
    comm = process.comm(tid)
    ident = _known(comm)
    state.edges.add((ident, f"{kind}/{how}", int(found["from"]), int(found["to"])), process.number)


def _known(comm: Comm | None) -> str | None:
    return None if comm is None else comm.id or f"{comm.host}:{comm.pid}:{comm.pointer}"


def _call(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    function, count, pointer = found["function"], int(found["count"]), found["comm"]
    if count > _MOST_BYTES:
        state.cut += 1
        return
    comm = process.by_pointer.get(pointer)
    known = data_type(found["datatype"])
    if known is not None:
        size = count * known[1]
        if len(process.recent) > _MOST_RECENT:
            process.recent.clear()
        process.recent[function, size] = pointer
        if function in _GATHERS:
            process.recent[function, size * int(found["nranks"])] = pointer
    rank = comm.rank if comm is not None else -1 - process.number
    state.calls.add((_known(comm), function, found["datatype"], count), rank)


def _chosen(process: ProcessState, tid: int, function: str, size: int) -> str | None:
    comm = process.by_pointer.get(process.recent.get((function, size), ""))
    return _known(comm if comm is not None else process.comm(tid))


def _choice(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    function, size = found["function"] or "", int(found["bytes"])
    if size > _MOST_BYTES:
        state.cut += 1
        return
    algorithm, protocol = found["algorithm"], found["protocol"]
    span = (int(found["low"]), int(found["high"])) if found["low"] else None
    cluster = int(found["cluster"]) if found["cluster"] else None
    if (span is not None and not span[0] <= span[1] < _MOST_CHANNELS) or (cluster or 0) > _MOST_CHANNELS:
        state.cut += 1
        return
    key = (
        _chosen(process, tid, function, size),
        function,
        size,
        algorithms().get(algorithm, algorithm),
        protocols().get(protocol, protocol),
        span,
        cluster,
        "",
        None,
        "",
    )
    state.choices.add(key, process.number)


def _symmetric(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    function, size, threads = found["function"], int(found["bytes"]), int(found["threads"])
    if size > _MOST_BYTES or max(int(found["channels"]), threads) > _MOST_CHANNELS:
        state.cut += 1
        return
    span = (0, max(int(found["channels"]) - 1, 0))
    ident = _chosen(process, tid, function, size)
    state.choices.add(
        (ident, function, size, "", "", span, None, found["kernel"], threads, ""), process.number
    )


def _copy(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    function, size = found["function"], int(found["bytes"])
    if size > _MOST_BYTES:
        state.cut += 1
        return
    engine = f"{found['engine']} ({found['how']})"
    ident = _chosen(process, tid, function, size)
    state.choices.add((ident, function, size, "", "", None, None, "", None, engine), process.number)


def _multicast(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    state.multicast.add(not found["not"])


def _network(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    if len(state.networks) < MOST_VALUES:
        state.networks[found["name"]] = None


def _tuner(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    if found["name"] and len(state.tuners) < MOST_VALUES:
        state.tuners[found["name"]] = None


def _columns_algorithms(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    process.algorithms = [algorithms().get(name, name) for name in found["cells"].replace("|", " ").split()]


def _columns_protocols(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    names = [protocols().get(name, name) for name in found["cells"].replace("|", " ").split()]
    each = len(names) // len(process.algorithms) if process.algorithms else 0
    process.columns = (
        [(process.algorithms[index // each], name) for index, name in enumerate(names)]
        if (each and each * len(process.algorithms) == len(names))
        else []
    )


def _max_threads(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    cells = found["cells"].replace("|", " ").split()
    ident = _known(process.comm(tid))
    for (algorithm, protocol), cell in zip(process.columns, cells, strict=False):
        if cell.isdigit() and len(state.max_threads) < 5000:
            state.max_threads[ident, algorithm, protocol] = int(cell)


def _costs(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    ident = _known(process.comm(tid))
    cells = [cell for cell in found["cells"].split("|") if cell.strip()]
    for (algorithm, protocol), cell in zip(process.columns, cells, strict=False):
        latency, _, bandwidth = cell.partition("/")
        key = (ident, found["function"], algorithm, protocol)
        numbers = (float(latency), float(bandwidth))
        if max(numbers) < 1e15 and (key in state.costs or len(state.costs) < MOST_KINDS):
            state.costs[key] = numbers


def _matrix(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    state.matrix.expected = _MATRIX_PATIENCE


def _nothing(state: State, process: ProcessState, tid: int, found: _Found) -> None:
    """A line that only shows that its subsystem was on."""


_HANDLERS: Mapping[str, Callable[[State, ProcessState, int, _Found], None]] = {
    "call": _call,
    "choice": _choice,
    "symmetric": _symmetric,
    "copy": _copy,
    "edge": _edge,
    "set": _set,
    "config": _config,
    "refused": _refused,
    "init": _init,
    "shape": _shape,
    "channels": _channels,
    "thresholds": _thresholds,
    "multicast": _multicast,
    "network": _network,
    "tuner": _tuner,
    "chunk": _nothing,
    "pattern": _nothing,
    "algorithms": _columns_algorithms,
    "protocols": _columns_protocols,
    "threads": _max_threads,
    "costs": _costs,
    "matrix": _matrix,
}
