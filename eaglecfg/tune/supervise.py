"""The supervisor: a small process between coordinator and server that always ends what it started.

``python -m eaglecfg.tune.supervise`` reads one JSON line from its standard input (see ``Order``), starts
the server in a session of its own, and writes one JSON line per event to its standard output and to a file.
It ends the whole process tree when it reads ``stop``, when its input closes, when its parent dies, or when
the server exits.

It is an entry point of its own: it alone turns the environment it was given into the server's. It imports
nothing but the standard library and its small neighbours, and has one thread: a parent-death signal belongs
to the thread that asked for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglecfg.machine.processes import MARKER_VARIABLE, Process, all_processes, descendants, read_process
from eaglecfg.tune import shared_memory
from eaglecfg.tune.ending import end_all, run_stop_command
from eaglecfg.tune.process import of_launch

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_S = 2.0
"""How often the tree is looked at while the server runs: a few milliseconds each."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the coordinator asks for. ``environment`` is the base (None: the supervisor's own), ``extra`` is
    added.

    ``stop`` is ``group`` or a command that is run first; ``term_s`` is the time from SIGTERM to SIGKILL,
    ``stop_s`` the time from the start of the stop until the tree has to be gone.
    """

    argv: Sequence[str]
    environment: Mapping[str, str] | None
    extra: Mapping[str, str]
    cwd: str
    log: str
    events: str
    marker: str
    port: int
    stop: str | Sequence[str]
    term_s: float
    stop_s: float


def prctl(option: int, value: int) -> None:
    """Call prctl(2); raises OSError when the kernel refuses."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Supervisor:
    """One server's life, from start to proof that nothing of it is left."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.events = Path(order.events).open("a", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
        self.shared_before = shared_memory.entries()
        self.shared_seen: set[str] = set()
        self.seen: set[tuple[int, int]] = set()
        self.server: subprocess.Popen[bytes] | None = None
        own = read_process(os.getpid())
        self.since = own.ticks if own is not None else 0
        self.main_exited = False

    def emit(self, event: str, **fields: Any) -> None:
        """Tell the coordinator, if it still listens, and the event file."""
        line = json.dumps({"event": event, "time": time.time(), **fields}) + "\n"
        with contextlib.suppress(OSError):
            self.events.write(line)
            self.events.flush()
        with contextlib.suppress(OSError):
            os.write(1, line.encode())

    def start(self) -> bool:
        """Start the server; False when the command itself can't be started."""
        base = dict(os.environ if self.order.environment is None else self.order.environment)
        environment = {**base, **self.order.extra, MARKER_VARIABLE: self.order.marker}
        parent = os.getpid()

        def die_with_supervisor() -> None:
            with contextlib.suppress(OSError):
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(125)

        try:
            with Path(self.order.log).open("ab", buffering=0) as log:
                self.server = subprocess.Popen(
                    list(self.order.argv),
                    env=environment,
                    cwd=self.order.cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=die_with_supervisor,  # one thread: nothing can hold a lock across the fork
                )
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            self.emit("failed", error=f"{self.order.argv[0]}: {getattr(error, 'strerror', None) or error}")
            return False
        process = read_process(self.server.pid)
        self.emit("started", pid=self.server.pid, ticks=process.ticks if process else 0)
        return True

    def reap(self) -> None:
        """Collect every child that has exited; adopted orphans of the tree are ours as well."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self.server is not None and pid == self.server.pid and not self.main_exited:
                self.main_exited = True
                code = os.waitstatus_to_exitcode(status)
                self.server.returncode = code
                self.emit("exit", code=code if code >= 0 else None, signal=-code if code < 0 else None)

    def living(self) -> list[Process]:
        """What still runs of the launch."""
        log = Path(self.order.log)
        return of_launch(self.order.marker, since=self.since, root=os.getpid(), log=log, known=self.seen)

    def look(self, *, deep: bool) -> None:
        """Note the tree's processes; ``deep`` also notes which shared memory it uses.

        They are told as well: should this supervisor be killed, a process of the tree that has lost its
        marker is still known by pid and start time.
        """
        processes = all_processes()
        tree = descendants(os.getpid(), processes)
        new = {(pid, processes[pid].ticks) for pid in tree} - self.seen
        if new:
            self.seen |= new
            self.emit("seen", processes=sorted(new))
        if deep:
            self.shared_seen |= shared_memory.opened_by(tree) - self.shared_before

    def stop(self, why: str) -> None:
        """End everything, then say what is left."""
        begun = time.monotonic()
        self.emit("stopping", why=why)
        self.look(deep=True)
        note = run_stop_command(self.order.stop, self.order.stop_s) if self.server is not None else ""
        ended = end_all(self.living, self.order.term_s, self.order.stop_s, before_each=self.reap)
        left = [str(process) for process in self.living()]
        new = shared_memory.entries() - self.shared_before
        pids = {pid for pid, _ in self.seen}
        ours = (self.shared_seen | shared_memory.named_after(new, pids)) & new
        stuck = shared_memory.remove(ours)
        left += [f"/dev/shm/{name}" for name in sorted(stuck)]
        if self.port_open():
            # With the whole tree gone, only a container or another user's server can hold it.
            if self.order.stop == "group":
                note = f"{note}; port {self.order.port} is held by another program".removeprefix("; ")
            else:
                left.append(f"port {self.order.port}")
        self.emit(
            "stopped",
            seconds=round(time.monotonic() - begun, 3),
            leftovers=left,
            ended=ended,
            shared_memory_removed=sorted(ours - stuck),
            note=note,
        )

    def port_open(self) -> bool:
        """Whether anybody accepts connections on the launch's port."""
        with socket.socket() as probe:
            probe.settimeout(0.5)
            return probe.connect_ex(("127.0.0.1", self.order.port)) == 0


def read_order(descriptor: int) -> tuple[bytes, bytes]:
    """The first line from a descriptor, and what came with it; unbuffered for ``select`` to see the rest."""
    received = b""
    while b"\n" not in received:
        piece = os.read(descriptor, 65536)
        if not piece:
            return b"", b""
        received += piece
    line, _, rest = received.partition(b"\n")
    return line, rest


def wake_on_signals() -> int:
    """Make signals readable on the returned descriptor, one byte each.

    Handlers that do nothing, not SIG_IGN: an ignored signal would stay ignored in the server.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return reading


def wait_for_end(supervisor: Supervisor, signals: int) -> str:
    """Sleep until there is a reason to stop; returns it."""
    while True:
        ready, _, _ = select.select([0, signals], [], [], LOOK_EVERY_S)
        if signals in ready and signal.SIGTERM in os.read(signals, 4096):
            return "the coordinator died or asked by signal"
        supervisor.reap()
        if supervisor.main_exited:
            return "the server exited"
        if 0 in ready:
            words = os.read(0, 4096)
            if not words:
                return "the coordinator is gone"
            if b"stop" in words:
                return "asked"
            supervisor.look(deep=b"look" in words)
        elif not ready:
            supervisor.look(deep=False)


def main() -> int:
    """Serve one order. What came of it stands in the events, not in the exit status."""
    parent = os.getppid()
    # A kernel without these still has the marker, and the end of the coordinator's pipe.
    for option, value in ((PR_SET_CHILD_SUBREAPER, 1), (PR_SET_PDEATHSIG, signal.SIGTERM)):
        with contextlib.suppress(OSError):
            prctl(option, value)
    signals = wake_on_signals()
    line, rest = read_order(0)
    if not line or os.getppid() != parent:
        return 0  # The coordinator went before it gave an order.
    supervisor = Supervisor(Order(**json.loads(line)))
    # What came with the order can only be that it is not wanted any more.
    started = not rest and supervisor.start()
    why = wait_for_end(supervisor, signals) if started else "it did not start"
    supervisor.stop(why)
    return 0


if __name__ == "__main__":
    sys.exit(main())
