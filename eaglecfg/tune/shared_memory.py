"""Which files in /dev/shm a launch made, so that they can be seen to be gone after it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path("/dev/shm")


def entries() -> set[str]:
    """Names in /dev/shm now."""
    try:
        return {entry.name for entry in FOLDER.iterdir()}
    except OSError:
        return set()


def opened_by(pids: Iterable[int]) -> set[str]:
    """Names in /dev/shm that these processes have mapped or open. Reads whole memory maps: not while
    timing."""
    found: set[str] = set()
    prefix = f"{FOLDER}/"
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
                path = line.partition(prefix)[2]
                if path and not path.endswith(" (deleted)"):
                    found.add(path)
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    path = str(entry.readlink())
                    if path.startswith(prefix) and not path.endswith(" (deleted)"):
                        found.add(path.removeprefix(prefix))
    return found


def named_after(names: Iterable[str], pids: set[int]) -> set[str]:
    """Those names with one of the pids as a part of its own, as in torch's ``torch_<pid>_<random>_<n>``."""
    return {
        name
        for name in names
        if any(part.isdigit() and int(part) in pids for part in re.split(r"[._-]", name))
    }


def remove(names: Iterable[str]) -> set[str]:
    """Remove these entries; returns those that could not be removed."""
    left = set()
    for name in names:
        try:
            (FOLDER / name).unlink()
        except FileNotFoundError:
            continue
        except OSError:
            left.add(name)
    return left
