"""Every fault of the stand-in, several times: its class, how soon it was noticed, how long the stop took,
what was left.

``python benchmarks/launch_faults.py [--times N]`` prints a Markdown table; exit status 1 when anything was
left behind or a class was wrong. A foreign server runs all the while and has to survive.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from eaglecfg.machine.ports import free_port
from eaglecfg.machine.processes import all_processes
from eaglecfg.tune.launch import run_launch
from eaglecfg.tune.process import carries
from eaglecfg.tune.trial import LaunchResult, Limits, MeasurePlan, Prompt, ServerCommand

STANDIN = (sys.executable, "-m", "eaglecfg.tune.standin")
PROMPTS = [Prompt(str(n), tuple(range(n + 1, n + 20))) for n in range(8)]
PLAN = MeasurePlan((2,), 2, 6, 32, warmup_requests=2)
LIMITS = Limits(startup_s=2.0, hang_floor_s=1.0, stop_s=20.0, term_s=1.0)
LATE = 200
"""Tokens after which a fault falls into a measured block."""

FAULTS = (
    ("flag", "flag"),
    ("import", "import"),
    ("oom", "oom"),
    ("nccl", "nccl"),
    ("cuda", "cuda"),
    ("port", "machine"),
    ("disk", "machine"),
    ("slow-start:0.5", None),
    ("slow-start:60", "startup"),
    ("no-port", "startup"),
    ("deaf", "startup"),
    (f"oom-run:{LATE}", "oom"),
    (f"nccl-run:{LATE}", "nccl"),
    (f"crash:{LATE}", "crash"),
    (f"hang:{LATE}", "hang"),
    (f"freeze:{LATE}", "hang"),
    (f"freeze-idle:{LATE}", "hang"),
    ("no-port exit:0.5", "crash"),
    ("truncate", "output"),
    ("abort", "output"),
    ("garbage", "output"),
    ("orphan", None),
    ("nameless", None),
    ("zombie", None),
    ("stubborn", None),
    ("shared-memory", None),
)


def main() -> int:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="launches per fault")
    times = parser.parse_args().times
    bad = 0
    print("| fault | class | launches | noticed after s, median (worst) | stop s, median (worst) | left |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, foreign_server() as foreign:
        for fault, expected in FAULTS:
            results = [one(fault, Path(folder)) for _ in range(times)]
            left = sum(len(result.cleanup.leftovers) + marked(result) for result in results)
            wrong = sum(result.failure != expected or not result.cleanup.proven for result in results)
            bad += left + wrong
            noticed = [seconds for result in results if (seconds := notice_seconds(result)) is not None]
            words = spread(noticed) if expected else "-"
            stops = spread([result.cleanup.seconds for result in results])
            classes = "/".join(sorted({result.failure or "none" for result in results}))
            print(f"| {fault} | {classes} | {times} | {words} | {stops} | {left} |", flush=True)
            for result in results:
                if result.failure != expected or not result.cleanup.proven:
                    print(f"  expected {expected}: {result.message} {result.cleanup}", file=sys.stderr)
        alive = foreign.poll() is None
    print(f"\nForeign server on the same host: {'alive' if alive else 'dead'}. Wrong or left: {bad}.")
    return 1 if bad or not alive else 0


def one(fault: str, folder: Path) -> LaunchResult:
    """One launch with this fault, or with several that a space parts."""
    marker = f"faults-{uuid.uuid4().hex}"
    named = (word for name in fault.split() for word in ("--fault", name))
    flags = ("--speculative-algorithm", "EAGLE3", "--virtual-clock", *named)
    command = ServerCommand((*STANDIN, *flags))
    place = folder / marker
    return run_launch(
        command, PLAN, PROMPTS, place, LIMITS, marker=marker, progress=lambda event, about: None
    )


def notice_seconds(result: LaunchResult) -> float | None:
    """Seconds from the last sign of life (exit, last token, start) to the decision to stop."""
    folder = Path(result.folder)
    events = {}
    for line in (folder / "supervisor.jsonl").read_text().splitlines():
        event = json.loads(line)
        events[event["event"]] = event["time"]
    if "stopping" not in events:
        return None
    if "exit" in events and events["exit"] <= events["stopping"]:
        return float(events["stopping"] - events["exit"])
    rows = folder / "requests.jsonl"
    begun = rows.stat().st_mtime if result.startup_s is not None and rows.exists() else events["started"]
    return float(events["stopping"] - begun)


def marked(result: LaunchResult) -> int:
    """Processes that still carry the launch's marker."""
    return sum(carries(pid, result.marker) for pid in all_processes())


def spread(values: list[float]) -> str:
    """Median and worst."""
    return f"{statistics.median(values):.2f} ({max(values):.2f})" if values else "-"


@contextlib.contextmanager
def foreign_server() -> Iterator[subprocess.Popen[bytes]]:
    """A server that no launch may touch."""
    port = free_port()
    with subprocess.Popen([*STANDIN, "--port", str(port)]) as server:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.02)
        yield server
        alive = server.poll() is None
        if alive:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main())
