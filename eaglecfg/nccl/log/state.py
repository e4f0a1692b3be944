"""What is remembered while a log is read: bounded, whatever the log's length."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from eaglecfg.nccl.log.model import Channels, Enabled

MOST_KINDS = 20_000
"""Different things of one sort (choices, calls, edges ...) that are kept; a job has some hundreds."""
MOST_WARNINGS = 200
MOST_PROCESSES = 4096
"""Processes, and communicators of one process."""
MOST_VALUES = 50
"""Values of one variable in one process; more than one is odd already."""

K = TypeVar("K", bound=Hashable)

ChoiceKey = tuple[str | None, str, int, str, str, tuple[int, int] | None, int | None, str, int | None, str]
"""communicator, function, bytes, algorithm, protocol, channels, cluster, kernel, threads, engine."""
CallKey = tuple[str | None, str, str, int]
"""communicator, function, code of the data type, count."""
EdgeKey = tuple[str | None, str, int, int]
"""communicator, transport, from, to."""


class Tally(Generic[K]):
    """Counts by key and by who counted (a process, a rank); takes no new key once it holds many."""

    def __init__(self, most: int = MOST_KINDS) -> None:
        self.most = most
        self.counts: dict[K, dict[int, int]] = {}
        self.left_out = 0

    def add(self, key: K, who: int) -> None:
        found = self.counts.get(key)
        if found is None:
            if len(self.counts) >= self.most:
                self.left_out += 1
                return
            found = self.counts[key] = {}
        found[who] = found.get(who, 0) + 1


@dataclass(slots=True)
class Comm:
    """One communicator as one process sees it."""

    pointer: str
    host: str
    pid: int
    rank: int
    ranks: int
    device: int
    bus_id: str
    id: str = ""
    made_by: str = ""
    nodes: int | None = None
    channels: Channels | None = None
    thresholds: str = ""
    complete: bool = False


@dataclass(slots=True)
class ProcessState:
    """One process. ``by_pointer`` holds its living communicators, ``recent`` the communicator of the last
    call of each function and size, ``threads`` the one that a thread initialises, ``columns`` the table's
    columns that are being read."""

    number: int
    host: str
    pid: int
    devices: set[int] = field(default_factory=set)
    messages: int = 0
    environment: dict[str, list[str]] = field(default_factory=dict)
    by_pointer: dict[str, Comm] = field(default_factory=dict)
    threads: dict[int, Comm] = field(default_factory=dict)
    recent: dict[tuple[str, int], str] = field(default_factory=dict)
    algorithms: list[str] = field(default_factory=list)
    columns: list[tuple[str, str]] = field(default_factory=list)

    def comm(self, tid: int) -> Comm | None:
        """The communicator that a message of this thread is about: its own, or the process's only one."""
        found = self.threads.get(tid)
        if found is None and len(self.by_pointer) == 1:
            found = next(iter(self.by_pointer.values()))
        return found


@dataclass(slots=True)
class WarnedState:
    """A warning and how often it came, numbers and addresses apart."""

    text: str
    where: str
    host: str
    pid: int
    count: int = 1


@dataclass(slots=True)
class Matrix:
    """The rows after ``Enabled NCCL Func/Proto/Algo Matrix``, which have no head of their own."""

    protocols: list[str] = field(default_factory=list)
    algorithms: list[str] = field(default_factory=list)
    rows: dict[str, Enabled] = field(default_factory=dict)
    expected: int = 0


@dataclass(slots=True)
class State:
    """Everything. ``costs`` and ``max_threads`` are keyed by communicator, function, algorithm, protocol."""

    processes: dict[tuple[str, int], ProcessState] = field(default_factory=dict)
    comms: list[Comm] = field(default_factory=list)
    versions: dict[str, None] = field(default_factory=dict)
    refused: dict[tuple[str, str, str], int] = field(default_factory=dict)
    choices: Tally[ChoiceKey] = field(default_factory=Tally)
    calls: Tally[CallKey] = field(default_factory=Tally)
    edges: Tally[EdgeKey] = field(default_factory=Tally)
    costs: dict[tuple[str | None, str, str, str], tuple[float, float]] = field(default_factory=dict)
    max_threads: dict[tuple[str | None, str, str], int] = field(default_factory=dict)
    warnings: dict[str, WarnedState] = field(default_factory=dict)
    matrix: Matrix = field(default_factory=Matrix)
    multicast: set[bool] = field(default_factory=set)
    networks: dict[str, None] = field(default_factory=dict)
    tuners: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    levels: set[str] = field(default_factory=set)
    cut: int = 0
    dropped: int = 0
