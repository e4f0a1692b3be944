"""Where the kernel and the system show the machine. Another root serves for tests and for mounted systems."""

from __future__ import annotations

from pathlib import Path

from eaglecfg.record import record


@record
class Places:
    """Folders that are read. ``home`` is the user's, None where there is none."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    etc: Path = Path("/etc")
    shm: Path = Path("/dev/shm")
    root: Path = Path("/")
    home: Path | None = None


def first_line(path: Path) -> str:
    """The first line of a small file of the kernel's, empty where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.readline(4096).strip("\0\n ")
    except (OSError, ValueError):
        return ""
