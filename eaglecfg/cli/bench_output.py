"""The file of raw results: only a new one, an empty one, or one that this command wrote is appended to."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from eaglecfg.cli.files import check_writable
from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.launches import is_start, read_recorded

LONGEST_START = 1 << 20
"""Bytes of the line that begins a run; nothing else of a file is read to see that it is something else."""


def check_output(name: str) -> None:
    """Look at the file of ``--output`` before anything is launched; nothing is made or changed.

    Raises UsageError where it cannot be written, or holds anything but raw results.
    """
    if name in ("", "-"):
        raise UsageError(
            f"--output takes the name of a file for raw results, got {name or 'an empty one'}; "
            f"on stdout the result itself is shown, as JSON with --format json"
        )
    check_writable(name)
    path = Path(name)
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{name}: {(error.strerror or str(error)).lower()}; name another file") from None
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{name}: raw results go to a plain file, this is none; name another")
    with path.open("rb") as file:
        first = file.readline(LONGEST_START)
    if not first:
        return
    if not _starts(first):
        raise UsageError(
            f"{name} holds something else than raw results of bench-allreduce, and is left as it is; "
            f"name a new file"
        )
    try:
        read_recorded(path)  # what is appended to a file that nobody can read is lost
    except UsageError as error:
        raise UsageError(f"{error}; nothing is appended to such a file, name a new one") from None


def ends_in_a_line(path: Path) -> bool:
    """Whether what is appended begins on a line of its own: a run that was killed may have cut its last."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return file.read() in (b"", b"\n")


def _starts(line: bytes) -> bool:
    try:
        return is_start(json.loads(line))
    except (ValueError, RecursionError):
        return False
