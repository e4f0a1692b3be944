"""The engine's own all-reduce: which of its implementations runs, and which kernel at which size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.numerals import engine_switch
from eaglecfg.nccl.engine_writes import Launch, engine_table
from eaglecfg.nccl.gpus import Gpu
from eaglecfg.nccl.version import at_least

CAP = "SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB"
PULL = "SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PULL_SIZE_KB"
PUSH = "SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PUSH_SIZE_KB"


def custom_shuts(launch: Launch) -> str:
    """Why the engine's own all-reduce is off, empty where it is on."""
    for flag in ("disable_custom_all_reduce", "enable_deterministic_inference"):
        if launch.flag(flag):
            return f"--{flag.replace('_', '-')} turns the engine's own all-reduce off"
    if unreadable_entry(launch.env.get("CUDA_VISIBLE_DEVICES", "")) is not None:
        return "the engine cannot read CUDA_VISIBLE_DEVICES and leaves its own all-reduce off"
    return ""


def unreadable_entry(visible: str) -> str | None:
    """The first entry of CUDA_VISIBLE_DEVICES that Python's int() refuses, as the engine reads them; None
    where it can read all of them, or none is given."""
    if not visible:
        return None
    for part in visible.split(","):
        if not re.fullmatch(r"\s*[+-]?\d+(_\d+)*\s*", part):
            return part.strip()
    return None


def custom_row(launch: Launch, gpu: Gpu | None, *, linked: bool) -> Mapping[str, Any] | None:
    """The implementation that takes this launch's ranks, None where there is none.

    The second implementation needs NVLink between all ranks (``linked``); where it cannot run, the first one
    takes over, in the versions that let it.
    """
    first: Mapping[str, Any]
    second: Mapping[str, Any]
    first, second = engine_table()["custom_all_reduce"]
    if custom_fact(launch) is second:
        if linked and launch.tensor in _ranks(launch, second, gpu):
            return second
        if at_least(second["alone_until"], launch.version):
            return None
    known = launch.tensor in first["sizes"]
    return first if known and (linked or launch.tensor == 2) else None


def custom_fact(launch: Launch) -> Mapping[str, Any]:
    """The row about the implementation that the engine tries first: ``sizes``, ``most_bytes``."""
    first, second = engine_table()["custom_all_reduce"]
    later = at_least(launch.version, second["since"])
    env = launch.env
    name = second["switch"] if second["switch"] in env else first["second"]
    asked = engine_switch(env.get(name, ""))
    newer = (asked is True and _shots(launch.version, second) is not None) or (later and asked is not False)
    row: Mapping[str, Any] = second if newer else first
    return row


def across_nodes(launch: Launch) -> Mapping[str, Any] | None:
    """The fact that lets the second implementation run between nodes, None where none does."""
    second = engine_table()["custom_all_reduce"][1]
    if custom_fact(launch) is not second:
        return None
    for row in second["across_nodes"]:
        if at_least(launch.version, row["since"]) and at_least(
            row.get("until", launch.version), launch.version
        ):
            variable = row.get("variable")
            on = variable is None or engine_switch(launch.env.get(variable, "")) is True
            found: Mapping[str, Any] = row
            return found if on else None
    return None


def custom_shot(launch: Launch, row: Mapping[str, Any], gpu: Gpu | None, size: int) -> tuple[str, int]:
    """(the kernel that takes ``size`` bytes, the most bytes that are taken at all)."""
    most = int(row["most_bytes"])
    shots = _shots(launch.version, row) if "shots" in row else None
    if shots is None:
        return "one-shot or two-shot, which its compiled code decides", most
    sizes = _thresholds(launch, shots, gpu)
    if "rest" in shots:
        most = _kib(launch, CAP, most)
    push, pull = (min(number, most) for number in sizes[:2])
    multicast, two_push = sizes[2] or None, sizes[3]
    if "rest" in shots and at_least(launch.version, "0.5.17"):
        push = _kib(launch, PUSH, push)
        most = _kib(launch, PULL, most)
    if size <= push:
        return "one-shot push", most
    if size <= min(two_push, most * launch.tensor // 2):
        return "two-shot push", most
    if size <= pull:
        return "one-shot pull", most
    if multicast is not None and size >= multicast:
        return "two-shot multicast", most
    return "two-shot pull", most


def _shots(version: str, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for shots in row["shots"]:
        if at_least(version, shots["since"]) and at_least(shots.get("until", version), version):
            found: Mapping[str, Any] = shots
            return found
    return None


def _by_major(shots: Mapping[str, Any], gpu: Gpu | None) -> Mapping[str, list[int]] | None:
    found: Mapping[str, list[int]] | None = shots["majors"].get(str(gpu.major) if gpu is not None else "9")
    return found or shots.get("others")


def _ranks(launch: Launch, second: Mapping[str, Any], gpu: Gpu | None) -> frozenset[int]:
    shots = _shots(launch.version, second)
    if shots is None:
        return frozenset(second["sizes"])
    table = _by_major(shots, gpu)
    if table is not None:
        return frozenset(int(ranks) for ranks in table)
    return frozenset(range(2, int(shots["most_ranks"]) + 1))


def _thresholds(launch: Launch, shots: Mapping[str, Any], gpu: Gpu | None) -> tuple[int, int, int, int]:
    table = _by_major(shots, gpu)
    row = table[str(launch.tensor)] if table is not None else shots["rest"]
    push, pull, multicast, two_push = [*row, 0, 0][:4]
    return push, pull, multicast, two_push


def _kib(launch: Launch, name: str, otherwise: int) -> int:
    text = launch.env.get(name, "").strip()
    return int(text) * 1024 if text.isascii() and text.isdigit() and len(text) < 10 else otherwise
