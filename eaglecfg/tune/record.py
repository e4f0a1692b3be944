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


def write(folder: Path, name: str, data: Any, *, private: bool = False) -> None:
    """Write data as JSON; ``private``: for the user alone. Raises OSError where it can't be written."""

    def opened(path: str, flags: int) -> int:
        handle = os.open(path, flags, 0o600 if private else 0o666)
        if private:
            os.fchmod(handle, 0o600)  # it may have been there before
        return handle

    with open(folder / name, "w", encoding="utf-8", opener=opened) as stream:
        stream.write(json.dumps(data, indent=1, default=str) + "\n")


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
