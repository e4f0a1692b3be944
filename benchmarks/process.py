"""One run of a command: how long it took, how much memory it held at its peak, how it ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Run:
    """Wall and processor time in seconds, peak memory in MiB, exit code, standard output and error."""

    seconds: float
    cpu: float
    peak_mib: float
    code: int
    output: str


WRAPPER = """\
import json, os, subprocess, sys, time
started = time.perf_counter()
with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
cpu = usage.ru_utime + usage.ru_stime
text = output.decode("utf-8", "replace")
print(json.dumps([seconds, cpu, usage.ru_maxrss / 1024, process.returncode, text]))
"""
"""Starts the command from a small process, because a process inherits the peak memory of who started it."""


def run(command: Sequence[str], folder: Path) -> Run:
    """Run ``command`` in ``folder``; this repository's package comes first on the import path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    # An installed package has its bytecode; without it, a run would time the compiler.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    wrapped = [sys.executable, "-I", "-S", "-c", WRAPPER, *command]
    done = subprocess.run(wrapped, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    return Run(*json.loads(done.stdout))


def median(runs: Sequence[Run]) -> Run:
    """The run of median duration."""
    return sorted(runs, key=lambda one: one.seconds)[len(runs) // 2]


def eaglecfg(*arguments: str) -> list[str]:
    """The command line of this repository's own tool."""
    return [sys.executable, "-m", "eaglecfg", *arguments]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to the widest cell; the first column left, the others right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
