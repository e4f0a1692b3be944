"""The settings that a benchmark compares, and what NCCL will make of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from eaglecfg.errors import UsageError
from eaglecfg.nccl.facts import related, variable_fact
from eaglecfg.nccl.names import meant, nearest
from eaglecfg.nccl.parse import parse
from eaglecfg.record import record
from eaglecfg.schema_files import read_schema

DEFAULT = "default"
MOST_SETTINGS = 64
"""More would run for hours; a study searches such spaces."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEPT = re.compile(
    r"RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|GROUP_RANK|MASTER_(ADDR|PORT)|TORCHELASTIC_\w*|PYTHON\w*"
    r"|NCCL_DEBUG|NCCL_DEBUG_FILE|NCCL_DEBUG_SUBSYS|EAGLECFG_BENCH_EVENTS"
)
"""Variables that the benchmark itself needs."""

_MILD = frozenset(("unusual", "power", "octal"))
"""Problems of a value that NCCL nevertheless works with, as written."""

_NEIGHBOURS = ("TORCH_NCCL_", "TORCH_SYMM_MEM", "NVSHMEM_", "GLOO_", "PYTORCH_CUDA_ALLOC", "PYTORCH_ALLOC")
_CUDA = frozenset(
    (
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "CUDA_SCALE_LAUNCH_QUEUES",
        "CUDA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
    )
)
"""Variables beside NCCL's own that a rank feels."""

_BEYOND = ("TORCH_NCCL_", "CUDA_", "TORCH_", "GLOO_", "PYTORCH_", "LD_", "SGLANG_", "OMP_")
"""Beginnings of names that bear on a rank without being NCCL's."""


@record
class Setting:
    """A name for the tables, and the variables that are added to the environment; ``default`` adds none."""

    name: str
    variables: Mapping[str, str]

    @property
    def spelled(self) -> str:
        """The variables as they are written in a shell; empty for the default."""
        return " ".join(f"{name}={shlex.quote(text)}" for name, text in self.variables.items())


@record
class Remark:
    """What is to be said of one variable of a setting. ``refused``: it would not do what it says."""

    setting: str
    message: str
    refused: bool


def parse_setting(text: str) -> Setting:
    """``NCCL_PROTO=LL NCCL_ALGO=Ring``, or ``default``. Raises UsageError."""
    if text.strip().lower() in (DEFAULT, ""):
        if not text.strip():
            raise UsageError("--setting takes NAME=VALUE or default, got nothing")
        return Setting(DEFAULT, {})
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--setting {text}: {error}") from None
    variables: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(name):
            hint = "; quote values with spaces" if variables else ""
            raise UsageError(f"--setting {text}: expected NAME=VALUE, got {word}{hint}")
        if name in variables:
            raise UsageError(f"--setting {text}: {name} stands there twice")
        if "\0" in value:
            raise UsageError(f"--setting {name}: no environment can hold a null character")
        variables[name] = value
    found = Setting("", variables)
    return Setting(found.spelled, variables)


def ready_list(name: str) -> tuple[Setting, ...] | None:
    """The settings of a list that ships with eaglecfg, None where there is none of that name."""
    table = read_schema("nccl", "bench_settings.json")["lists"]
    if name not in table:
        return None
    return tuple(Setting(row["name"], row["variables"]) for row in table[name])


def list_names() -> tuple[str, ...]:
    """Names of the lists that ship."""
    return tuple(read_schema("nccl", "bench_settings.json")["lists"])


def arrange(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """The default first, then the others as they came, each set of variables once and under its own name.

    Raises UsageError for too many.
    """
    known: set[tuple[tuple[str, str], ...]] = {()}
    out = {DEFAULT: Setting(DEFAULT, {})}
    for setting in settings:
        key = tuple(sorted(setting.variables.items()))
        if key in known:
            continue
        known.add(key)
        name = setting.name if setting.name not in out else f"{setting.name} ({setting.spelled})"
        out[name] = Setting(name, setting.variables)
    if len(out) > MOST_SETTINGS:
        raise UsageError(
            f"up to {MOST_SETTINGS} settings can be compared in one run, got {len(out)}; eaglecfg tune "
            f"searches larger spaces"
        )
    return tuple(out.values())


def remarks_on(setting: Setting, version: str, inherited: Mapping[str, str]) -> tuple[Remark, ...]:
    """What NCCL ``version`` will not take as it is written; ``inherited`` is the environment below it."""
    out: list[Remark] = []
    for name, text in setting.variables.items():
        message, refused = _about(name, text, version)
        if message:
            out.append(Remark(setting.name, message, refused))
        elif name in inherited and inherited[name] != text:
            message = f"{name}={inherited[name]} holds on this machine; this setting runs with {text} instead"
            out.append(Remark(setting.name, message, False))
    return tuple(out)


def bears(name: str) -> bool:
    """Whether a variable of the environment can change how ranks sum; versions and folders cannot."""
    if name.startswith("NCCL_"):
        return name not in related()["not_settings"]
    return name in _CUDA or name.startswith(_NEIGHBOURS)


def reserved(setting: Setting) -> str:
    """The first variable that the benchmark sets itself, empty where there is none."""
    return next((name for name in setting.variables if _KEPT.fullmatch(name)), "")


def _about(name: str, text: str, version: str) -> tuple[str, bool]:
    fact = variable_fact(name)
    if fact is None:
        return _unknown(name, version)
    standing = fact.standing(version)
    if standing in ("not yet", "gone"):
        when = f"from {fact.first} on" if standing == "not yet" else "no more"
        return f"NCCL {version} does not read {name} (it does {when}), so it would change nothing", True
    problems = parse(name, text, version).problems
    if not problems:
        return "", False
    worst = next((each for each in problems if each.code not in _MILD), problems[0])
    part = f" at {worst.part}" if worst.part and worst.part != text else ""
    meant = f"; write {name}={worst.fixed}" if worst.fixed is not None else ""
    message = f"{name}={text}{part}: expected {worst.expected}; {worst.outcome}{meant}"
    return message, worst.code not in _MILD


def _unknown(name: str, version: str) -> tuple[str, bool]:
    """What to say of a name that the facts of NCCL lack."""
    table = related()
    if name in table["torch"] or name.startswith(_BEYOND):
        return "", False
    near, turned = meant(name)
    if not name.startswith("NCCL_"):
        near, turned = nearest(name, table["torch"], "TORCH_NCCL_") or near, None
    who = f"NCCL {version}" if name.startswith("NCCL_") else "nothing that is known here"
    verb = "reads no variable" if name.startswith("NCCL_") else "reads"
    hint = f"; the nearest name is {near}" if near else f"; {turned} says the opposite" if turned else ""
    return f"{who} {verb} {name}, so it would change nothing{hint}", True
