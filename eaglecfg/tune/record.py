"""What a launch leaves in its folder besides the server's log."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from eaglecfg.machine.processes import Process, command_line
from eaglecfg.source.secrets import redact_arguments


def write(folder: Path, name: str, data: Any) -> None:
    """Write data as JSON. Raises OSError when the folder can't be written."""
    (folder / name).write_text(json.dumps(data, indent=1, default=str) + "\n", encoding="utf-8")


def rows_to(stream: TextIO) -> Callable[[Sequence[Mapping[str, Any]]], None]:
    """A function that appends rows to ``stream``, one JSON object a line."""

    def keep(rows: Sequence[Mapping[str, Any]]) -> None:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
        stream.flush()

    return keep


def host() -> dict[str, Any]:
    """The machine, in the words that decide whether two launches can be compared."""
    return {
        "name": socket.gethostname(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "python": sys.version.split()[0],
    }


def states(processes: Iterable[Process]) -> list[dict[str, Any]]:
    """What every process of a launch does at this moment: its state and the kernel function it waits in."""
    found = []
    for process in processes:
        waits = ""
        with contextlib.suppress(OSError):
            waits = Path(f"/proc/{process.pid}/wchan").read_text()
        found.append(
            {
                "pid": process.pid,
                "name": process.name,
                "state": process.state,
                "waits_in": waits,
                "command": redact_arguments(command_line(process.pid).split()),
            }
        )
    return found
