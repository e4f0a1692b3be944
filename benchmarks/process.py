"""One run of a command: how long it took, how much memory it held at its peak, how it ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Run:
    """Wall time in seconds, peak resident memory in MiB, exit code, standard output and error together."""

    seconds: float
    peak_mib: float
    code: int
    output: str


def run(command: Sequence[str], folder: Path) -> Run:
    """Run ``command`` in ``folder``; this repository's package comes first on the import path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    started = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)  # the only call that tells one child's peak memory
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    return Run(seconds, usage.ru_maxrss / 1024, process.returncode, output)


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
