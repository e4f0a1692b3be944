"""Processes of a launch: who belongs to it, and signals that cannot hit anybody else.

Only the standard library: the supervisor imports this and has to start in a few tens of milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterable
from pathlib import Path

from eaglecfg.machine.processes import (
    MARKER_VARIABLE,
    PROC,
    Process,
    all_processes,
    boot_id,
    descendants,
    read_process,
)


def identity_of(pid: int) -> str:
    """``boot id:ticks``: what has to hold for the pid to mean the same process. Empty when it has gone."""
    process = read_process(pid)
    return "" if process is None else f"{boot_id()}:{process.ticks}"


def boot_of(identity: str) -> str:
    """The boot of an ``identity_of``; empty where that is."""
    return identity.rpartition(":")[0]


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
