"""Servers that run here already, and who listens on the ports that a server would want."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from eaglecfg.machine.gpus import Gpu
from eaglecfg.machine.ports import DERIVED
from eaglecfg.machine.processes import (
    MARKER_VARIABLE,
    Process,
    all_processes,
    arguments_of,
    command_line,
    descendants,
    environment_of,
    holders,
    listeners,
)
from eaglecfg.record import record
from eaglecfg.source.secrets import redact_arguments

DEFAULT_PORT = 30000
"""--port where it is not given; sglang 0.5.4.post1 to 0.5.23, srt/server_args.py."""

SUPERVISOR = "eaglecfg.tune.supervise"
LONGEST_COMMAND = 300


@record
class Server:
    """An engine's server: its first process, and all that belong to it.

    ``started``: seconds since 1970, None where the clock of the boot is hidden. ``gpu_bytes``: what its
    processes hold, where the driver tells pids that we can see. ``marker``: the launch of ``eaglecfg tune``
    that it belongs to; ``supervised``: the supervisor of that launch is still there.
    """

    pid: int
    user: str
    started: float | None
    processes: tuple[int, ...]
    command: str
    gpu_bytes: int | None
    marker: str
    supervised: bool


@record
class Taken:
    """A port that somebody listens on. ``meant`` is what a server would use it for; ``pid`` and ``command``
    where we may see them."""

    port: int
    meant: str
    pid: int | None
    command: str


@record
class Ports:
    """The default or declared port with those that a server derives from it, and the range that tune takes
    its ports from. None where the kernel hides the table of sockets."""

    port: int
    taken: tuple[Taken, ...]
    range_first: int
    range_last: int
    range_listening: int


def find_servers(proc: Path, gpus: Iterable[Gpu], own_pid: int) -> tuple[Server, ...]:
    """Servers that run now. ``own_pid`` and what it runs below are never among them."""
    processes = _all(proc)
    mine = {own_pid, *_ancestors(own_pid, processes)}
    markers = {pid: environment_of(pid, proc).get(MARKER_VARIABLE, "") for pid in processes}
    arguments = {pid: arguments_of(pid, proc) for pid in processes}
    supervisors = {pid for pid, words in arguments.items() if SUPERVISOR in words}
    watched = {below for pid in supervisors for below in descendants(pid, processes)}
    matched = {
        pid
        for pid, process in processes.items()
        if pid not in mine
        and pid not in supervisors
        and process.state not in "ZX"
        and (markers[pid] or is_server(process.name, arguments[pid]))
    }
    held = {one.pid: 0 for gpu in gpus for one in gpu.processes or ()}
    for gpu in gpus:
        for one in gpu.processes or ():
            held[one.pid] += one.bytes or 0
    boot = _boot_time(proc)
    found = []
    for pid in sorted(matched):
        if matched.intersection(_ancestors(pid, processes)):
            continue
        tree = {pid} | descendants(pid, processes)
        sizes = [held[each] for each in tree if each in held]
        found.append(
            Server(
                pid,
                _user(proc, pid),
                boot + processes[pid].ticks / os.sysconf("SC_CLK_TCK") if boot is not None else None,
                tuple(sorted(tree)),
                " ".join(redact_arguments(arguments[pid]))[:LONGEST_COMMAND] or processes[pid].name,
                sum(sizes) if sizes else None,
                markers[pid],
                pid in watched,
            )
        )
    return tuple(found)


def is_server(name: str, arguments: tuple[str, ...]) -> bool:
    """Whether a process with this name and these arguments is an SGLang server or one of its workers."""
    if name.startswith("sglang::") or (arguments and arguments[0].startswith("sglang::")):
        return True
    words = arguments[:8]
    if "sglang.launch_server" in words or any(word.endswith("/sglang/launch_server.py") for word in words):
        return True
    names = [PurePosixPath(word).name for word in words]
    return any(
        first == "sglang" and second == "serve" for first, second in zip(names, words[1:], strict=False)
    )


def look_at_ports(proc: Path, port: int, first: int, last: int) -> Ports | None:
    """Who listens where a server on ``port`` would want to."""
    open_ports = listeners(proc)
    if open_ports is None:
        return None
    offsets = [offset for offset in (0, *DERIVED) if port + offset in open_ports]
    of = _holders({inode for offset in offsets for inode in open_ports[port + offset]}, proc)
    taken = []
    for offset in offsets:
        pid = next((of[inode] for inode in sorted(open_ports[port + offset]) if inode in of), None)
        command = command_line(pid, proc) if pid is not None else ""
        meant = "the server" if offset == 0 else f"what the server derives from {port}"
        taken.append(Taken(port + offset, meant, pid, " ".join(redact_arguments(command.split()))[:120]))
    listening = sum(first <= each <= last for each in open_ports)
    return Ports(port, tuple(taken), first, last, listening)


def _all(proc: Path) -> dict[int, Process]:
    try:
        return all_processes(proc)
    except OSError:
        return {}


def _holders(inodes: set[str], proc: Path) -> dict[str, int]:
    try:
        return holders(inodes, proc)
    except OSError:
        return {}


def _ancestors(pid: int, processes: Mapping[int, Process]) -> list[int]:
    found: list[int] = []
    while (process := processes.get(pid)) is not None and process.parent not in found:
        pid = process.parent
        found.append(pid)
    return found


def _boot_time(proc: Path) -> float | None:
    with suppress(OSError, ValueError, IndexError):
        for line in (proc / "stat").read_text().splitlines():
            if line.startswith("btime "):
                return float(line.split()[1])
    return None


def _user(proc: Path, pid: int) -> str:
    try:
        owner = (proc / str(pid)).stat().st_uid
    except OSError:
        return ""
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)
