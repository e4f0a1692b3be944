"""What a log says, once read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """One rank of a communicator. ``bus_id`` is the GPU's, in hexadecimal as NCCL writes it."""

    rank: int
    host: str
    pid: int
    device: int
    bus_id: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Channels:
    """``N coll channels, ...`` of a communicator."""

    collective: int
    collnet: int
    nvls: int
    p2p: int
    p2p_per_peer: int


@dataclass(frozen=True, slots=True)
class Communicator:
    """A group of ranks. ``id`` is NCCL's commId, or ``parent/split.color`` for a split of one, or where
    neither is told ``host:pid:pointer``. ``ranks_total`` counts all, ``members`` those that the log shows.
    ``nodes`` is None where the log does not tell."""

    id: str
    ranks_total: int
    members: tuple[Member, ...]
    channels: Channels | None = None
    nodes: int | None = None
    thresholds: str = ""
    made_by: str = ""

    @property
    def complete(self) -> bool:
        """Whether every rank is in the log and finished its initialisation."""
        return len(self.members) == self.ranks_total and all(member.complete for member in self.members)


@dataclass(frozen=True, slots=True)
class Taken:
    """One value that NCCL said it took of a variable. ``processes`` took it."""

    value: str
    processes: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A value that NCCL did not take as it stands. ``name`` is empty where the line does not say which
    variable it is."""

    name: str
    value: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A transport between ranks. ``pairs`` counts ordered pairs of ranks, ``channels`` lines."""

    communicator: str | None
    kind: str
    pairs: int
    channels: int


@dataclass(frozen=True, slots=True)
class Cost:
    """A cell of NCCL's cost table: microseconds and GB/s. A bandwidth of 0 means that NCCL will not choose
    the combination."""

    communicator: str | None
    function: str
    algorithm: str
    protocol: str
    latency_us: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Threads:
    """The most threads of a block, by algorithm and protocol."""

    communicator: str | None
    algorithm: str
    protocol: str
    threads: int


@dataclass(frozen=True, slots=True)
class Enabled:
    """A row of the matrix that NCCL_ALGO and NCCL_PROTO leave: 0 off, 1 on, 2 where the topology allows."""

    function: str
    protocols: Mapping[str, int]
    algorithms: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Choice:
    """What NCCL chose for one collective and message size, and how often it was put in a queue.

    ``function`` is empty in logs of NCCL 2.21, which leaves it out. ``channels`` is (first, last).
    ``kernel``, ``threads`` and the number of channels are told of symmetric kernels, ``engine`` of copy
    engines; those have neither algorithm nor protocol. ``processes`` said so: rank 0 alone, mostly.
    """

    function: str
    bytes: int
    algorithm: str = ""
    protocol: str = ""
    channels: tuple[int, int] | None = None
    cluster: int | None = None
    kernel: str = ""
    threads: int | None = None
    engine: str = ""
    communicator: str | None = None
    ranks: int | None = None
    count: int = 0
    processes: int = 0

    @property
    def shown(self) -> str:
        """``Ring LL``, the kernel, or the copy engine."""
        return self.kernel or self.engine or f"{self.algorithm} {self.protocol}"


@dataclass(frozen=True, slots=True)
class Calls:
    """API calls of one kind, from COLL lines. ``bytes`` is count times the size of the type, ``by_rank`` the
    number of calls of each rank."""

    communicator: str | None
    function: str
    datatype: str
    count: int
    bytes: int | None
    by_rank: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Warned:
    """A line at WARN, numbers and addresses as in the first such line."""

    text: str
    where: str
    count: int
    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Ranks that must agree and do not. ``what``: ``environment``, ``channels``, ``choice`` or ``calls``."""

    what: str
    communicator: str
    text: str


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read. ``messages`` are NCCL's."""

    name: str
    bytes: int
    lines: int
    messages: int


@dataclass(frozen=True, slots=True)
class Process:
    """One process that wrote."""

    host: str
    pid: int
    devices: tuple[int, ...]
    messages: int
    environment: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NcclLog:
    """Everything that was read. ``subsystems`` are those of which the log has lines, or that were declared;
    ``cut`` counts lines with a piece of a message, ``dropped`` what was one kind too many to keep."""

    files: tuple[File, ...]
    versions: tuple[str, ...]
    processes: tuple[Process, ...]
    communicators: tuple[Communicator, ...]
    environment: Mapping[str, tuple[Taken, ...]]
    refused: tuple[Refused, ...]
    edges: tuple[Edge, ...]
    costs: tuple[Cost, ...]
    threads: tuple[Threads, ...]
    enabled: tuple[Enabled, ...]
    choices: tuple[Choice, ...]
    calls: tuple[Calls, ...]
    warnings: tuple[Warned, ...]
    disagreements: tuple[Disagreement, ...]
    multicast: bool | None
    networks: tuple[str, ...]
    tuners: tuple[str, ...]
    subsystems: frozenset[str]
    levels: frozenset[str]
    cut: int = 0
    dropped: int = 0

    @property
    def messages(self) -> int:
        """How many of NCCL's messages there were."""
        return sum(file.messages for file in self.files)

    @property
    def version(self) -> str:
        """The one version, without its CUDA part; empty where there is none or several."""
        plain = {version.partition("+")[0] for version in self.versions}
        return plain.pop() if len(plain) == 1 else ""
