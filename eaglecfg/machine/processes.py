"""Processes as the kernel shows them. Reads only.

Only the standard library: the supervisor imports this and has to start in a few tens of milliseconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
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


def boot_id(proc: Path = PROC) -> str:
    """The kernel's id of this boot; pids and ticks mean nothing across boots.

    Some sandboxes have no id; the time of the boot, which Linux always tells, serves as well.
    """
    with contextlib.suppress(OSError):
        return (proc / "sys/kernel/random/boot_id").read_text().strip()
    with contextlib.suppress(OSError):
        lines = (proc / "stat").read_text().splitlines()
        return next((line.replace(" ", "-") for line in lines if line.startswith("btime ")), "unknown")
    return "unknown"


def read_process(pid: int, proc: Path = PROC) -> Process | None:
    """The process with this pid, or None when there is none."""
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name stands in parentheses and may itself hold spaces and parentheses.
    head, _, tail = text.rpartition(")")
    name = head.partition("(")[2]
    fields = tail.split()
    if len(fields) < 20:
        return None
    return Process(pid, int(fields[19]), int(fields[1]), int(fields[3]), fields[0], name)


def all_processes(proc: Path = PROC) -> dict[int, Process]:
    """Every process that can be seen, by pid."""
    pids = [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
    return {pid: process for pid in pids if (process := read_process(pid, proc)) is not None}


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


def environment_of(pid: int, proc: Path = PROC) -> dict[str, str]:
    """The environment that a process was started with; empty where it cannot be read.

    Some programs write over that memory to change their title.
    """
    try:
        words = (proc / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = (word.decode(errors="replace").partition("=") for word in words)
    return {name: value for name, equals, value in pairs if equals}


def arguments_of(pid: int, proc: Path = PROC) -> tuple[str, ...]:
    """The arguments of a process; empty when they cannot be read, and for the kernel's own."""
    try:
        text = (proc / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ()
    # A process that sets its title leaves zeros behind it.
    return tuple(text.rstrip("\0").split("\0")) if text.strip("\0") else ()


def command_line(pid: int, proc: Path = PROC) -> str:
    """The command line of a process, arguments joined by spaces; empty when it cannot be read."""
    return " ".join(arguments_of(pid, proc)).strip()


def listeners(proc: Path = PROC) -> dict[int, set[str]] | None:
    """TCP ports that are listened on, on any address, with the inodes of their sockets.

    None where the kernel shows no table of sockets.
    """
    found: dict[int, set[str]] = {}
    tables = 0
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            lines = (proc / "net" / table).read_text().splitlines()
            tables += any(line.split()[:1] == ["sl"] for line in lines[:1])
            for line in lines[1:]:
                if " 0A " not in line:
                    continue  # a busy client leaves thousands that wait to be forgotten
                fields = line.split()
                if len(fields) > 9 and fields[3] == "0A":
                    found.setdefault(int(fields[1].rpartition(":")[2], 16), set()).add(fields[9])
    return found if tables else None


def listening_sockets(port: int, proc: Path = PROC) -> set[str]:
    """Inodes of the sockets that listen on this TCP port, on any address."""
    return (listeners(proc) or {}).get(port, set())


def holders(inodes: Collection[str], proc: Path = PROC) -> dict[str, int]:
    """Socket -> the first pid that has it open, as far as we may look. One walk for all of them."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[str, int] = {}
    for pid in sorted(all_processes(proc)) if wanted else ():
        with contextlib.suppress(OSError):
            for entry in (proc / str(pid) / "fd").iterdir():
                with contextlib.suppress(OSError):
                    inode = wanted.get(str(entry.readlink()))
                    if inode is not None:
                        found.setdefault(inode, pid)
    return found
