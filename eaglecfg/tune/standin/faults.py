"""Faults that real servers have, on demand.

A fault is ``NAME``, ``NAME:ARGUMENT`` or either followed by ``?SETTING=VALUE``: it then happens only where
that flag (with underscores) or environment variable has that value. With ``--fault-once FILE`` it happens
once, with ``--fault-unless FILE`` as long as there is no such file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from eaglecfg.tune.standin.settings import Settings

AT_START: Mapping[str, tuple[int, str]] = {
    "flag": (2, "launch_server.py: error: unrecognized arguments: --no-such-flag"),
    "import": (1, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'flashinfer'"),
    "oom": (
        1,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has 1.2 GiB free.",
    ),
    "memory": (1, "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."),
    "nccl": (
        1,
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:93, ncclInvalidUsage",
    ),
    "cuda": (1, "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    "refuse": (
        1,
        "Traceback (most recent call last):\nValueError: topk > 1 is not supported by this backend",
    ),
    "port": (1, "[Errno 98] error while attempting to bind on address: address already in use"),
    "grpc": (
        1,
        "Traceback (most recent call):\nValueError: SGLANG_GRPC_PORT (70657) must be between 1 and 65535",
    ),
    "disk": (1, "OSError: [Errno 28] No space left on device: '/tmp/torchinductor'"),
}
"""Text on the log and exit status, before the port opens."""

IN_GENERATION: Mapping[str, str] = {
    "oom-run": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "cuda-run": "CUDA error: an illegal memory access was encountered",
    "nccl-run": "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE)",
    "crash": "Fatal Python error: Segmentation fault",
}
"""Text on the log, then SIGABRT to itself, after ARGUMENT tokens (default 20)."""

OTHERS = (
    "exit",  # ARGUMENT seconds after the start, status 3, without a word
    "slow-start",  # the port opens ARGUMENT seconds later
    "no-port",  # the port never opens
    "say",  # ARGUMENT on the log, at the start
    "deaf",  # healthy, but no generation is ever answered
    "break",  # healthy, but for ARGUMENT seconds (default for ever) every generation is broken off
    "busy",  # the same with HTTP 503
    "fail",  # the same with HTTP 500
    "slow",  # every step takes ARGUMENT seconds longer
    "hang",  # healthy, but generation stops after ARGUMENT tokens
    "freeze",  # SIGSTOP to itself after ARGUMENT tokens
    "freeze-idle",  # the same, but not before it is asked to empty its cache: nothing is generated then
    "orphan",  # leaves a double-forked child in a session of its own, which ignores SIGTERM
    "nameless",  # the same with an empty environment
    "zombie",  # leaves a child that has exited and is never collected
    "stubborn",  # ignores SIGTERM
    "shared-memory",  # leaves a mapped file in /dev/shm
    "wrong",  # other tokens than usual, from the ARGUMENTth (default 0) of an answer on
    "truncate",  # ends at half of the tokens
    "abort",  # aborts every request
    "garbage",  # answers with what is not JSON
    "reject",  # HTTP 400 for every request
    "nccl-lost",  # NCCL does not get to see ARGUMENT, names of variables with commas between
)

CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


class Faults:
    """The faults that apply to these settings."""

    def __init__(self, settings: Settings) -> None:
        self._active: dict[str, str] = {}
        self._begun = time.monotonic()
        self._tokens = 0
        self._asked = 0.0
        self._lock = threading.Lock()
        once = settings.flags.get("fault_once")
        mended = settings.flags.get("fault_unless")
        for text in settings.faults:
            fault, _, condition = text.partition("?")
            setting, _, value = condition.partition("=")
            if condition and settings.seen(setting) != value:
                continue
            name, _, argument = fault.partition(":")
            if name not in AT_START and name not in IN_GENERATION and name not in OTHERS:
                raise SystemExit(f"standin: error: argument --fault: invalid choice: {name!r}")
            self._active[name] = argument
        if mended and Path(str(mended)).exists():
            self._active = {}
        if self._active and once:
            if Path(str(once)).exists():
                self._active = {}
            else:
                Path(str(once)).touch()

    def has(self, name: str) -> bool:
        """Whether this fault applies."""
        return name in self._active

    def argument(self, name: str) -> str:
        """The argument of a fault, empty where it does not apply."""
        return self._active.get(name, "")

    def amount(self, name: str, default: float) -> float:
        """The argument of a fault as a number."""
        return float(self._active.get(name) or default)

    def at_start(self) -> None:
        """Everything that happens before the port opens."""
        for name, (status, text) in AT_START.items():
            if self.has(name):
                print(text, file=sys.stderr, flush=True)  # noqa: T201 - the log is what the fault is about
                os._exit(status)
        if self.has("say"):
            print(self._active["say"], file=sys.stderr, flush=True)  # noqa: T201
        if self.has("stubborn"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for name, environment in (("orphan", None), ("nameless", {})):
            if self.has(name):
                leave_child(environment)
        if self.has("zombie"):
            self._child = leave_zombie()
        if self.has("shared-memory"):
            self._shared = leave_shared_memory()
        if self.has("slow-start"):
            time.sleep(self.amount("slow-start", 1.0))
        while self.has("no-port"):
            self.tick()
            time.sleep(0.1)

    def within(self, name: str) -> bool:
        """Whether a fault that lasts ARGUMENT seconds from the first question on still does."""
        if not self.has(name):
            return False
        self._asked = self._asked or time.monotonic()
        return time.monotonic() - self._asked < self.amount(name, float("inf"))

    def tick(self) -> None:
        """Called a few times a second in the main thread."""
        if self.has("exit") and time.monotonic() - self._begun > self.amount("exit", 1.0):
            os._exit(3)

    def flushed(self) -> None:
        """Called before the cache is emptied."""
        if self.has("freeze-idle") and self._tokens >= self.amount("freeze-idle", 20):
            os.kill(os.getpid(), signal.SIGSTOP)

    def generated(self, tokens: int) -> None:
        """Called after tokens were sent; does not return where the fault says so."""
        with self._lock:
            self._tokens += tokens
        for name, text in IN_GENERATION.items():
            if self.has(name) and self._tokens >= self.amount(name, 20):
                print(text, file=sys.stderr, flush=True)  # noqa: T201
                os.kill(os.getpid(), signal.SIGABRT)
        if self.has("freeze") and self._tokens >= self.amount("freeze", 20):
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.has("slow"):
            time.sleep(self.amount("slow", 0.1))
        while self.has("hang") and self._tokens >= self.amount("hang", 20):
            time.sleep(1)


def leave_child(environment: Mapping[str, str] | None) -> None:
    """A grandchild whose parent is gone, in another session, deaf to SIGTERM."""
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen(
            [sys.executable, "-c", CHILD],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os._exit(0)
    os.wait()


def leave_zombie() -> object:
    """A child that has exited; whoever keeps this does not collect it."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child


def leave_shared_memory() -> object:
    """A mapped file in /dev/shm that nobody will remove."""
    import mmap
    import secrets

    path = Path(f"/dev/shm/standin-{secrets.token_hex(6)}")
    with path.open("wb+") as stream:
        stream.truncate(4096)
        return mmap.mmap(stream.fileno(), 4096)
