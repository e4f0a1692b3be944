"""What NCCL would write about the stand-in's ranks: the lines of NCCL 2.27.5, made up, for tests of what
reads them.

Written where NCCL_DEBUG is INFO. Variables are read as NCCL reads them: numbers by strtoll, lists as text,
levels only where they are levels.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

VERSION = "2.27.5+cuda12.9"
NUMBERS = (
    "NCCL_BUFFSIZE",
    "NCCL_CUMEM_ENABLE",
    "NCCL_GRAPH_REGISTER",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NTHREADS",
    "NCCL_NVLS_ENABLE",
    "NCCL_SHM_DISABLE",
)
LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
DEFAULT_SUBSYSTEMS = "INIT,BOOTSTRAP,ENV"
CHANNELS, MOST_CHANNELS = 24, 64
SIZES = (8192, 57344, 262144, 16777216)
"""Bytes of the messages: decode, verify, a batch of them, a prefill."""
LARGE = 1 << 20
"""From here on Simple is what NCCL chooses by itself."""
COMM = "0x5581c0d0e0f0"
COMM_ID = 0x8F1D2C3B4A596877
_NUMBER = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+))")


def nccl_lines(environment: Mapping[str, str], ranks: int, pid: int, lost: Collection[str] = ()) -> list[str]:
    """The lines of ``ranks`` processes, rank by rank; ``pid`` is that of rank 0. ``lost`` are variables that
    NCCL does not get to see."""
    if environment.get("NCCL_DEBUG", "").upper() != "INFO" or ranks < 1:
        return []
    seen = {name: text for name, text in environment.items() if name not in lost}
    subsystems = set(seen.get("NCCL_DEBUG_SUBSYS", DEFAULT_SUBSYSTEMS).upper().split(","))
    out = []
    for rank in range(ranks):
        head = f"standin:{pid + rank}:{pid + rank} [{rank}] NCCL INFO "
        for subsystem, text in _rank(seen, rank, ranks, pid):
            if {subsystem, "ALL"} & subsystems or not subsystem:
                out.append(head + text)
    return out


def _strtoll(text: str) -> int:
    found = _NUMBER.match(text)
    return int(found[1], 0) if found and not re.fullmatch(r"[+-]?0[0-9]+", found[1]) else 0


def _rank(seen: Mapping[str, str], rank: int, ranks: int, pid: int) -> Iterator[tuple[str, str]]:
    numbers = {name: _strtoll(seen[name]) for name in NUMBERS if seen.get(name)}
    if rank == 0:
        yield "", f"NCCL version {VERSION}"
    yield "", "cudaDriverVersion 12090"
    for name, value in numbers.items():
        yield "ENV", f"{name} set by environment to {value}."
    if seen.get("NCCL_P2P_DISABLE") == "1":
        yield "", "NCCL_P2P_DISABLE set by environment to 1"
    elif seen.get("NCCL_P2P_LEVEL") in LEVELS:
        yield "", f"NCCL_P2P_LEVEL set by environment to {seen['NCCL_P2P_LEVEL']}"
    about = (
        f"ncclCommInitRankConfig comm {COMM} rank {rank} nranks {ranks} cudaDev {rank} "
        f"nvmlDev {rank} busId {0x18000 + rank * 0x2000:x} commId {COMM_ID ^ pid:#x}"
    )
    yield "INIT", f"{about} - Init START"
    least = max(numbers.get("NCCL_MIN_NCHANNELS", 0), numbers.get("NCCL_MIN_CTAS", 0))
    most = min(numbers.get("NCCL_MAX_NCHANNELS", MOST_CHANNELS), numbers.get("NCCL_MAX_CTAS", MOST_CHANNELS))
    channels = max(min(CHANNELS, most), least, 1)
    for name in ("NCCL_PROTO", "NCCL_ALGO"):
        if seen.get(name):
            yield "ENV", f"{name} set by environment to {seen[name]}"
    threads = numbers.get("NCCL_NTHREADS", 512)
    yield "INIT", f"threadThresholds 8/8/64 | {8 * ranks}/8/64 | 512 | 512"
    nvls = 16 if numbers.get("NCCL_NVLS_ENABLE", 2) and ranks > 2 else 0
    yield (
        "INIT",
        f"{channels} coll channels, {channels} collnet channels, {nvls} nvls channels, "
        f"32 p2p channels, 32 p2p channels per peer",
    )
    if rank == 0:
        yield "TUNING", "  Algorithm   |" + f" {'':14s}   {'Ring':>14s}   {'':14s} |"
        yield "TUNING", "  Protocol    |" + "".join(f" {name:>14s} |" for name in ("LL", "LL128", "Simple"))
        yield "TUNING", " Max NThreads |" + "".join(f" {count:14d} |" for count in (threads, 640, threads))
        yield "TUNING", f"{'AllReduce':>13s} |" + "     7.8/  47.0 |    17.8/  94.5 |    15.2/ 136.0 |"
    yield "INIT", f"{about} - Init COMPLETE"
    far = (rank + 1) % ranks
    for channel in range(channels if ranks > 1 else 0):
        yield (
            "INIT",
            f"Channel {channel:02d}/0 : {rank}[{rank}] -> {far}[{far}] via {_transport(seen, numbers)}",
        )
    yield from _calls(seen, rank, ranks, channels)


def _transport(seen: Mapping[str, str], numbers: Mapping[str, int]) -> str:
    if seen.get("NCCL_P2P_DISABLE") == "1" or seen.get("NCCL_P2P_LEVEL") == "LOC":
        return "SHM/direct/direct"
    return "P2P/CUMEM" if numbers.get("NCCL_CUMEM_ENABLE", 1) else "P2P/IPC"


def _calls(seen: Mapping[str, str], rank: int, ranks: int, channels: int) -> Iterator[tuple[str, str]]:
    if ranks < 2:
        return
    for operation, size in enumerate(SIZES):
        yield (
            "COLL",
            f"AllReduce: opCount {operation:x} sendbuff 0x7f0000000000 recvbuff 0x7f0000000000 count "
            f"{size // 2} datatype 9 op 0 root 0 comm {COMM} [nranks={ranks}] stream 0x55",
        )
        if rank == 0:
            algorithm = seen.get("NCCL_ALGO", "Ring").split(",")[0].upper()
            protocol = _protocol(seen.get("NCCL_PROTO", ""), size)
            last = 0 if size < 65536 else min(size // 65536, channels) - 1
            chosen = f"Algo {algorithm} proto {protocol} channel{{Lo..Hi}}={{0..{last}}}"
            yield "TUNING", f"AllReduce: {size} Bytes -> {chosen}"


def _protocol(asked: str, size: int) -> str:
    names = [name.upper() for name in asked.split(",") if name]
    wanted = "SIMPLE" if size >= LARGE else "LL"
    return wanted if not names or wanted in names else names[0]
