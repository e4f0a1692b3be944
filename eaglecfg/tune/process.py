"""Processes as the kernel shows them: who belongs to a launch, and signals that cannot hit anybody else.

Only the standard library: the supervisor imports this and has to start in a few tens of milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

MARKER_VARIABLE = "EAGLECFG_LAUNCH"
"""Set in the environment of every process of a launch; its value is the launch's marker."""

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """One process. ``ticks`` is its start in clock ticks since boot, which with ``pid`` names it for good."""

    pid: int
    ticks: int
    parent: int
    session: int
    state: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})"


def boot_id() -> str:
    """The kernel's id of this boot; pids and ticks mean nothing across boots.

    Some sandboxes have no id; the time of the boot, which Linux always tells, serves as well.
    """
    with contextlib.suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    with contextlib.suppress(OSError):
        lines = (PROC / "stat").read_text().splitlines()
        return next((line.replace(" ", "-") for line in lines if line.startswith("btime ")), "unknown")
    return "unknown"


def read_process(pid: int) -> Process | None:
    """The process with this pid, or None when there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name stands in parentheses and may itself hold spaces and parentheses.
    head, _, tail = text.rpartition(")")
    name = head.partition("(")[2]
    fields = tail.split()
    if len(fields) < 20:
        return None
    return Process(pid, int(fields[19]), int(fields[1]), int(fields[3]), fields[0], name)


def all_processes() -> dict[int, Process]:
    """Every process that can be seen, by pid."""
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return {pid: process for pid in pids if (process := read_process(pid)) is not None}


def identity_of(pid: int) -> str:
    """``boot id:ticks``: what has to hold for the pid to mean the same process. Empty when it has gone."""
    process = read_process(pid)
    return "" if process is None else f"{boot_id()}:{process.ticks}"


def carries(pid: int, marker: str) -> bool:
    """Whether the process was started with this marker in its environment.

    Some programs write over that memory to change their title; ``writes_to`` finds those.
    """
    try:
        environment = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{MARKER_VARIABLE}={marker}".encode() in environment.split(b"\0")


def writes_to(pid: int, log: os.stat_result) -> bool:
    """Whether the standard output or error of the process is this very file."""
    for descriptor in ("1", "2"):
        with contextlib.suppress(OSError):
            seen = (PROC / str(pid) / "fd" / descriptor).stat()
            if (seen.st_dev, seen.st_ino) == (log.st_dev, log.st_ino):
                return True
    return False


def descendants(root: int, processes: Mapping[int, Process]) -> set[int]:
    """Pids below ``root`` in the tree of parents, without ``root`` itself."""
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    open_ends = [root]
    while open_ends:
        for pid in children.get(open_ends.pop(), ()):
            if pid not in found:
                found.add(pid)
                open_ends.append(pid)
    return found


def of_launch(
    marker: str,
    *,
    since: int,
    root: int | None = None,
    log: Path | None = None,
    known: Collection[tuple[int, int]] = (),
) -> list[Process]:
    """Living processes of one launch: below ``root``, with the marker, or writing to the launch's own log.

    ``known`` are (pid, ticks) that its supervisor saw below itself. ``since`` is the start of the launch in
    clock ticks since boot; nothing older is ever returned, nor is the calling process or a zombie.
    """
    processes = all_processes()
    tree = descendants(root, processes) if root is not None else set()
    try:
        log_stat = log.stat() if log is not None else None
    except OSError:
        log_stat = None
    found = []
    for process in processes.values():
        if process.pid in (os.getpid(), root) or process.ticks < since or process.state in "ZX":
            continue
        if (
            process.pid in tree
            or (process.pid, process.ticks) in known
            or carries(process.pid, marker)
            or (log_stat is not None and writes_to(process.pid, log_stat))
        ):
            found.append(process)
    return found


def send(process: Process, number: signal.Signals) -> bool:
    """Signal exactly this process. False when it has gone, or when its pid belongs to another one by now."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except OSError:  # no pidfds here (old kernels, some sandboxes): a compare and then a signal must do
        return _send_without_descriptor(process, number)
    try:
        # The descriptor pins whatever has the pid now; only then is the start time compared.
        now = read_process(process.pid)
        if now is None or now.ticks != process.ticks:
            return False
        signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _send_without_descriptor(process: Process, number: signal.Signals) -> bool:
    now = read_process(process.pid)
    if now is None or now.ticks != process.ticks:
        return False
    try:
        os.kill(process.pid, number)
    except OSError:
        return False
    return True


def command_line(pid: int) -> str:
    """The command line of a process, arguments joined by spaces; empty when it cannot be read."""
    try:
        return (
            (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        )
    except OSError:
        return ""


def listening_sockets(port: int) -> set[str]:
    """Inodes of the sockets that listen on this TCP port, on any address."""
    found = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(fields[9])
    return found


def holds_socket(pids: Iterable[int], inodes: set[str]) -> bool:
    """Whether one of the processes has one of the sockets open."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in (PROC / str(pid) / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(entry.readlink()) in wanted:
                        return True
    return False
