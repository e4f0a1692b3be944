"""What the engine makes of NCCL's environment before NCCL reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from eaglecfg.engines.table import source_of
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.nccl.version import at_least
from eaglecfg.schema_files import read_schema


@dataclass(frozen=True, slots=True)
class Launch:
    """What decides the engine's writes. ``version`` of the engine, ``flag`` gives the value that runs of a
    flag (None: off, absent or not known). ``tensor`` and ``ranks``: tensor-parallel ranks, and the most of
    any kind of ranks. ``fabric``: NVLink reaches other nodes. ``graphs``: decode runs in CUDA graphs.
    ``env``: the user's variables, a ``Handed`` where some of them are not known."""

    version: str
    flag: Callable[[str], Any]
    tensor: int
    ranks: int
    nodes: int
    fabric: bool
    graphs: bool
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Effective:
    """The text that NCCL gets to see, None where the variable is not set. ``by_engine`` where the engine
    wrote it over nothing or over the user's value; ``why`` names the flag or the rule, ``source`` the
    place in the engine."""

    name: str
    text: str | None
    by_engine: bool = False
    why: str = ""
    source: str = ""


@cache
def engine_table() -> Mapping[str, Any]:
    """What is known about SGLang and NCCL: its writes, its own all-reduce, its variables."""
    table: Mapping[str, Any] = read_schema("nccl", "sglang.json")
    return table


def written_names(engine: str) -> tuple[str, ...]:
    """The variables that some version of the engine writes."""
    return tuple(engine_table()["writes"]) if engine == "sglang" else ()


def engine_variables(engine: str) -> Mapping[str, Mapping[str, str]]:
    """The engine's own variables about collectives: ``since``, ``until``, ``about``, ``source``."""
    table: Mapping[str, Any] = engine_table()["variables"] if engine == "sglang" else {}
    return table


def effective(name: str, launch: Launch) -> Effective:
    """What NCCL sees of the variable ``name`` once the engine has started its ranks."""
    rows = engine_table()["writes"].get(name, ())
    current = Effective(name, _given(name, launch.env))
    for row in rows:
        if not _in_force(row, launch.version) or not _holds(row.get("when", {}), launch):
            continue
        forced = [flag for flag in row.get("forced_by", ()) if launch.flag(flag)]
        if row["unless_set"] and current.text is not None and not forced:
            continue
        why = " and ".join(f"--{flag.replace('_', '-')}" for flag in forced) or _reason(row, launch)
        current = Effective(name, _value(row, launch), True, why, source_of(row))
    return current


def _given(name: str, env: Mapping[str, str]) -> str | None:
    try:
        return env.get(name)
    except ValueFromLaunch:
        return f"${{{name}}}"  # it is set, which is enough to keep the engine from writing


def _in_force(row: Mapping[str, Any], version: str) -> bool:
    return at_least(version, row["since"]) and ("until" not in row or at_least(row["until"], version))


def _value(row: Mapping[str, Any], launch: Launch) -> str:
    if "value_env" in row and row["value_env"] in launch.env:
        return launch.env[row["value_env"]]
    value = row["value"]
    return value if isinstance(value, str) else str(int(any(launch.flag(flag) for flag in value)))


def _reason(row: Mapping[str, Any], launch: Launch) -> str:
    if "reason" in row:
        return str(row["reason"])
    when = row.get("when", {})
    flags = [*when.get("any_flag", ()), *when.get("flag_over", ())[:1], *when.get("flag_is", ())[:1]]
    on = [flag for flag in flags if launch.flag(flag)]
    return " and ".join(f"--{flag.replace('_', '-')}" for flag in on)


def _holds(when: Mapping[str, Any], launch: Launch) -> bool:
    """Whether every condition of a row holds."""
    tests: Mapping[str, Callable[[Any], bool]] = {
        "any_flag": lambda flags: any(launch.flag(flag) for flag in flags),
        "no_flag": lambda flags: not any(launch.flag(flag) for flag in flags),
        "flag_over": lambda pair: _number(launch.flag(pair[0])) > pair[1],
        "flag_is": lambda pair: launch.flag(pair[0]) == pair[1],
        "tp_over": lambda least: launch.tensor > least,
        "ranks_over": lambda least: launch.ranks > least,
        "nnodes_over": lambda least: launch.nodes > least,
        "fabric": lambda wanted: launch.fabric is wanted,
        "graphs": lambda wanted: launch.graphs is wanted,
    }
    return all(tests[name](value) for name, value in when.items())


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
