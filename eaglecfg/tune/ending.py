"""Ends processes of a launch, politely first. Standard library only, as ``supervise`` needs it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from eaglecfg.machine.processes import Process, command_line
from eaglecfg.tune.process import send

TRACKER = "resource_tracker"
TRACKER_GRACE_S = 1.0
"""Python's resource tracker removes shared memory once everybody else has gone, so it is killed last."""


def end_all(
    find: Callable[[], list[Process]],
    term_s: float,
    stop_s: float,
    *,
    before_each: Callable[[], None] = lambda: None,
) -> list[str]:
    """SIGTERM, after ``term_s`` SIGKILL, until ``find`` finds nothing or ``stop_s`` is over.

    Signals nothing but what ``find`` returns, each by pid and start time. Returns what was signalled, in
    words.
    """
    begun = time.monotonic()
    term_s = min(term_s, stop_s / 2)
    told: dict[tuple[int, int], str] = {}
    killing_since: float | None = None
    while True:
        before_each()
        alive = find()
        elapsed = time.monotonic() - begun
        if not alive or elapsed > stop_s:
            return list(told.values())
        if killing_since is None and elapsed >= term_s:
            killing_since = elapsed
        for process in alive:
            if killing_since is None:
                _ask(process, told)
            elif TRACKER not in command_line(process.pid) or elapsed > killing_since + TRACKER_GRACE_S:
                send(process, signal.SIGKILL)
                told[process.pid, process.ticks] = f"SIGKILL {process}"
        time.sleep(0.02 if elapsed < 1 else 0.1)


def _ask(process: Process, told: dict[tuple[int, int], str]) -> None:
    key = (process.pid, process.ticks)
    if key in told:
        return
    told[key] = f"SIGTERM {process}"
    send(process, signal.SIGTERM)
    send(process, signal.SIGCONT)  # a stopped process would never see the SIGTERM


def run_stop_command(stop: str | Sequence[str], limit_s: float) -> str:
    """Run the stop command of a launch prefix, if it has one; returns what went wrong with it."""
    if isinstance(stop, str):
        return ""
    try:
        done = subprocess.run(
            list(stop), stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"the stop command failed: {error}"
    if done.returncode == 0:
        return ""
    last = " ".join(done.stderr.decode(errors="replace").strip().splitlines()[-1:])
    return f"the stop command exited with {done.returncode}: {last}".rstrip(": ")
