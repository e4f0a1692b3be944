"""The variables of this shell, and the lines of nccl.conf, that a server started here would get."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from eaglecfg.machine.places import Places
from eaglecfg.record import record
from eaglecfg.source.secrets import redact_environment

STARTS = ("NCCL_", "TORCH_NCCL_", "CUDA_", "SGLANG_", "SGL_", "PYTORCH_", "EAGLECFG_")
# Of NVIDIA_* the rest describes the image to the container runtime.
NAMED = (
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "OMP_NUM_THREADS",
)
LONGEST_FILE = 1 << 20
LONGEST_VALUE = 1023
"""NCCL cuts the values of its files there; src/misc/param.cc."""

State = Literal["read", "absent", "unreadable"]


@record
class Setting:
    """One line of an nccl.conf. ``shadowed``: what wins over it, empty where it holds."""

    name: str
    value: str
    line: int
    shadowed: str = ""


@record
class ConfFile:
    """A file that NCCL reads before it looks at the environment. ``odd`` are (line, text) that NCCL passes
    over."""

    path: str
    state: State
    settings: tuple[Setting, ...] = ()
    odd: tuple[tuple[int, str], ...] = ()


def relevant(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that bear on the server, sorted, secrets hidden."""
    chosen = {name: text for name, text in environ.items() if name.startswith(STARTS) or name in NAMED}
    return redact_environment(chosen)


def read_conf_files(environ: Mapping[str, str], places: Places) -> tuple[ConfFile, ...]:
    """The nccl.conf files in the order in which they win: the user's, then the system's.

    Variables of the environment win over both, and NCCL_CONF_FILE takes the place of ~/.nccl.conf.
    """
    named = environ.get("NCCL_CONF_FILE")
    own = Path(named) if named else places.home / ".nccl.conf" if places.home is not None else None
    files = []
    above: dict[str, str] = dict.fromkeys(environ, "the environment")
    for path in (own, places.etc / "nccl.conf"):
        if path is None:
            continue
        found = _read(path, above)
        files.append(found)
        above |= {each.name: found.path for each in found.settings if each.name not in above}
    return tuple(files)


def in_force(environ: Mapping[str, str], files: tuple[ConfFile, ...]) -> dict[str, str]:
    """NCCL's variables as a process started here would see them."""
    out = {name: text for name, text in environ.items() if name.startswith("NCCL_")}
    for each in files:
        for setting in each.settings:
            out.setdefault(setting.name, setting.value)
    return out


def _read(path: Path, above: Mapping[str, str]) -> ConfFile:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            return ConfFile(str(path), "unreadable")
        with path.open("rb") as stream:
            text = stream.read(LONGEST_FILE).decode(errors="replace")
    except FileNotFoundError:
        return ConfFile(str(path), "absent")
    except (OSError, ValueError):
        return ConfFile(str(path), "unreadable")
    settings: dict[str, Setting] = {}
    odd = []
    for number, line in enumerate(text.split("\n"), 1):
        name, equals, value = line.partition("=")
        if line.startswith("#") or not line.strip():
            continue
        if not equals or not name:
            odd.append((number, line))
        elif name not in settings:  # NCCL takes the first of two lines
            settings[name] = Setting(name, value[:LONGEST_VALUE], number, above.get(name, ""))
    return ConfFile(str(path), "read", tuple(settings.values()), tuple(odd))
