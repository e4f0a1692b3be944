"""The processes of one all-reduce launch: started, heard, watched, and ended without anything left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eaglecfg.machine.processes import read_process
from eaglecfg.nccl.bench.plan import BenchPlan, Job
from eaglecfg.nccl.bench.size import size_words
from eaglecfg.tune import shared_memory
from eaglecfg.tune.failure import read_tail

WORKER = Path(__file__).resolve().parent.parent / "nccl" / "bench" / "worker.py"
MOST_LOG = 1 << 21
GONE_S = 4.0
"""How long killed ranks may take to go; after that the kernel is stuck with them, which is told."""

LAST_WORD_S = 1.0
"""After one rank has failed, the others get this long to say what they saw."""

LOGGED = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING,P2P,SHM,NVLS"}
QUIET = {"NCCL_DEBUG": "WARN"}
DROPPED = ("NCCL_DEBUG_SUBSYS", "TORCHELASTIC_USE_AGENT_STORE", "MASTER_PORT")
"""What an environment may have that would bring other logs, or the ranks to another group."""

AFTER = {
    "": "starting Python and importing torch",
    "imported": "taking its device",
    "device": "forming the group",
    "joined": "the first all-reduce",
    "connected": "the first size",
    "checked": "checking sums",
    "captured": "preparing the next size",
    "ready": "the first timed calls",
    "settled": "timing",
    "timed": "timing",
}
"""Last event of a rank -> what it was doing when it fell silent."""


class Rank:
    """One process."""

    def __init__(self, number: int, process: subprocess.Popen[bytes], events: int, folder: Path) -> None:
        self.number, self.process, self.events = number, process, events
        self.log, self.nccl_log = log_paths(folder, number)
        self.rest = b""
        self.open = True
        self.told: list[dict[str, Any]] = []
        self.busy = -1

    @property
    def last(self) -> str:
        return self.told[-1]["event"] if self.told else ""

    def has(self, event: str) -> bool:
        return any(each["event"] == event for each in self.told)

    def doing(self) -> str:
        """What the rank does, or did when it fell silent, in words."""
        if not self.told:
            return AFTER[""]
        words = AFTER.get(self.last, self.last)
        size = self.told[-1].get("size")
        return f"{words} after {size_words(size)}" if size else words

    def stopped(self) -> bool:
        """Whether somebody has stopped the process (SIGSTOP)."""
        seen = read_process(self.process.pid)
        return seen is not None and seen.state in "tT"


class RankGroup:
    """The ranks of one launch. They import torch at once, then wait for ``go``."""

    def __init__(self, plan: BenchPlan, job: Job, environment: Mapping[str, str], folder: Path) -> None:
        """Raises OSError where Python cannot be started."""
        self.plan, self.job = plan, job
        self.begun = self.moved = time.monotonic()
        self.shared_before = shared_memory.entries()
        self.ranks: list[Rank] = []
        base = {name: text for name, text in environment.items() if name not in DROPPED}
        base |= {
            "MASTER_ADDR": "127.0.0.1",
            "WORLD_SIZE": str(plan.ranks),
            "LOCAL_WORLD_SIZE": str(plan.ranks),
        }
        base |= LOGGED if job.kind == "check" else QUIET
        base.setdefault("OMP_NUM_THREADS", "1")  # as torchrun does
        if plan.backend == "gloo":
            base.setdefault("GLOO_SOCKET_IFNAME", "lo")
        try:
            for number in range(plan.ranks):
                own = {"RANK": str(number), "LOCAL_RANK": str(number), "PYTHONUNBUFFERED": "1"}
                self.ranks.append(self._start(number, {**base, **own, **job.setting.variables}, folder))
        except BaseException:
            self.end()
            raise

    def _start(self, number: int, environment: Mapping[str, str], folder: Path) -> Rank:
        reading, writing = os.pipe()
        log, nccl_log = log_paths(folder, number)
        # A file of its own: NCCL writes that line by line, but a redirected standard output in blocks that a
        # killed process takes along.
        own = {"EAGLECFG_BENCH_EVENTS": str(writing), "NCCL_DEBUG_FILE": str(nccl_log).replace("%", "%%")}
        try:
            with log.open("wb") as stream:
                process = subprocess.Popen(
                    [self.plan.python, str(WORKER)],
                    env={**environment, **own},
                    stdin=subprocess.PIPE,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    pass_fds=(writing,),
                    start_new_session=True,  # a signal to its group reaches the rank and what it started
                )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        os.set_blocking(reading, False)
        rank = Rank(number, process, reading, folder)
        self._send(rank, self.plan.order(self.job.kind))
        return rank

    def _send(self, rank: Rank, data: Mapping[str, Any]) -> None:
        assert rank.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # a rank that has gone is noticed elsewhere
            rank.process.stdin.write((json.dumps(data) + "\n").encode())
            rank.process.stdin.flush()

    def say(self, word: str, **fields: Any) -> None:
        """Tell every rank to go on."""
        self.moved = time.monotonic()
        for rank in self.ranks:
            self._send(rank, {"word": word, **fields})

    def go(self) -> None:
        """Have the group formed, over a port that is free now."""
        self.say("go", environment={"MASTER_PORT": str(free_loopback_port())})

    @property
    def waiting(self) -> list[int]:
        """Descriptors that ranks speak on."""
        return [rank.events for rank in self.ranks if rank.open]

    def hear(self) -> list[dict[str, Any]]:
        """Everything that was told since the last call."""
        new: list[dict[str, Any]] = []
        for rank in self.ranks:
            while rank.open:
                try:
                    piece = os.read(rank.events, 1 << 20)
                except BlockingIOError:
                    break
                if not piece:
                    rank.open = False
                    break
                *lines, rank.rest = (rank.rest + piece).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    rank.told.append(event)
                    new.append(event)
        if new:
            self.moved = time.monotonic()
        return new

    def all_have(self, event: str) -> bool:
        return all(rank.has(event) for rank in self.ranks)

    def lost(self) -> Rank | None:
        """A rank that has exited, or is about to, before it was done."""
        return next((rank for rank in self.ranks if not rank.has("done") and not self._lives(rank)), None)

    def _lives(self, rank: Rank) -> bool:
        return rank.open and exit_status(rank.process) is None

    def silent_s(self) -> float:
        """Seconds since any rank moved. While torch is imported, work of its process is movement."""
        if not self.all_have("imported"):
            for rank in self.ranks:
                busy = 0 if rank.has("imported") else cpu_ticks(rank.process.pid)
                if busy > rank.busy:
                    rank.busy, self.moved = busy, time.monotonic()
        return time.monotonic() - self.moved

    def silence(self) -> str:
        """Which ranks fell silent where, in words."""
        parts = []
        for rank in self.ranks:
            state = " (stopped by a signal)" if rank.stopped() else ""
            parts.append(f"rank {rank.number}{state} in {rank.doing()}")
        return ", ".join(parts)

    def last_words(self) -> None:
        """Give the other ranks a moment after one has failed."""
        deadline = time.monotonic() + LAST_WORD_S
        while any(self._lives(rank) for rank in self.ranks) and time.monotonic() < deadline:
            time.sleep(0.05)
            self.hear()

    def leave(self) -> None:
        """Let ranks that are done exit; they have until ``end`` kills them."""
        self.say("exit")
        deadline = time.monotonic() + LAST_WORD_S
        while any(exit_status(rank.process) is None for rank in self.ranks) and time.monotonic() < deadline:
            time.sleep(0.01)

    def end(self) -> list[str]:
        """Kill what still runs, of our own children alone; returns what could not be ended, in words."""
        living = [rank for rank in self.ranks if exit_status(rank.process) is None]
        shared = shared_memory.opened_by(rank.process.pid for rank in living) if living else set()
        for rank in self.ranks:
            if rank.process.returncode is None:  # not yet reaped: its pid and session are still its own
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(rank.process.pid, signal.SIGKILL)
                rank.process.kill()
        deadline = time.monotonic() + GONE_S
        left = []
        for rank in self.ranks:
            try:
                rank.process.wait(max(0.05, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                left.append(f"rank {rank.number} (pid {rank.process.pid}) does not die")
            with contextlib.suppress(OSError):
                assert rank.process.stdin is not None
                rank.process.stdin.close()
            if rank.events >= 0:
                os.close(rank.events)
                rank.events, rank.open = -1, False
        new = shared & (shared_memory.entries() - self.shared_before) if shared else set()
        stuck = shared_memory.remove(new)
        return left + [f"/dev/shm/{name} could not be removed" for name in sorted(stuck)]


def exit_status(process: subprocess.Popen[bytes]) -> int | None:
    """The exit status of a child (negative: the signal that ended it), None while it runs.

    It is not reaped, so that its pid and its group stay its own until ``end``.
    """
    if process.returncode is not None:
        return process.returncode
    seen = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if seen is None:
        return None
    return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status


def cpu_ticks(pid: int) -> int:
    """Clock ticks that a process has worked, and the pages it has touched: importing moves one of them."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return sum(int(fields[index]) for index in (7, 9, 11, 12)) if len(fields) > 12 else 0


def free_loopback_port() -> int:
    """A port that nobody listens on; whoever binds it first has it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def log_paths(folder: Path, number: int) -> tuple[Path, Path]:
    """Where a rank's output and NCCL's own lines go."""
    return folder / f"rank-{number}.log", folder / f"nccl-{number}.log"


def tail(ranks: Sequence[Rank]) -> list[str]:
    """The last lines of the ranks' logs, those of the rank that failed first, NCCL's before what follows."""
    return [line for rank in ranks for log in (rank.nccl_log, rank.log) for line in read_tail(log)]


def nccl_lines(rank: Rank) -> str:
    """What NCCL wrote in one rank, up to a size that nobody needs more of; empty where it wrote nothing."""
    try:
        with rank.nccl_log.open("rb") as stream:
            return stream.read(MOST_LOG).decode(errors="replace")
    except OSError:
        return ""
