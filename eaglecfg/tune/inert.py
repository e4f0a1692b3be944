"""Keys of a space that cannot change a measurement: launching them would only measure noise."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eaglecfg.engines.blocks import in_blocks
from eaglecfg.errors import UsageError
from eaglecfg.rules.nccl.searched import may_decide, tunes_decode
from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.arm import apply, setting, spelled
from eaglecfg.tune.space import Condition, Dimension, Space

RANKS = ("tp_size", "dp_size", "pp_size", "ep_size", "nnodes")
COMMUNICATION = frozenset(
    (
        "disable_custom_all_reduce",
        "enable_nccl_nvls",
        "enable_symm_mem",
        "enable_mscclpp",
        "enable_torch_symm_mem",
    )
)
"""Server flags that only choose how ranks talk to each other."""

MOST_LOOKED_AT = 400
"""Combinations of keys that may decide it, looked at one by one; of more than that nothing is left out."""

Asleep = Callable[[Deployment], str]
"""Why no setting of NCCL's can act on decode or verify of a deployment, empty where one may."""


@dataclass(frozen=True, slots=True)
class Inert:
    """``left_out``: searched keys that cannot matter -> why. ``conditions``: those that matter only under
    some choices of another key."""

    left_out: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Condition] = field(default_factory=dict)


def find_inert(space: Space, asleep: Asleep) -> Inert:
    """What of ``space`` cannot matter. Nothing is left out that another searched key could wake."""
    alone = inert_keys(space)
    if alone:
        return Inert(alone)
    keys = [item.key for item in space.dimensions if item.size > 1 and _tunes_nccl(item)]
    if not keys:
        return Inert()
    deciding = [item for item in space.dimensions if item.size > 1 and _may_decide(item.key)]
    found = _look(space, deciding, asleep)
    if not found or not any(why for _, why in found):
        return Inert()
    if all(why for _, why in found):
        return Inert(dict.fromkeys(keys, f"{found[0][1]} (--keep-inert searches it)"))
    for dimension in deciding:
        condition = _condition(dimension.key, found)
        if condition is not None:
            return Inert(conditions=dict.fromkeys(keys, condition))
    return Inert()


def inert_keys(space: Space) -> dict[str, str]:
    """Searched keys about the talk between ranks where there is one rank -> why."""
    searched = {setting(key) for key in space.searched}
    if any(path[0] == "parallel" for path in searched) or _ranks(space.base) > 1:
        return {}
    out = {}
    for dimension in space.dimensions:
        path = spelled(dimension.key)
        talks = path[0] == "nccl" or (path[0] == "env" and path[-1].startswith("NCCL_"))
        if dimension.size > 1 and (talks or (path[0] == "server" and path[-1] in COMMUNICATION)):
            out[dimension.key] = "one rank has nobody to talk to: parallel.tp_size is 1"
    return out


def _ranks(deployment: Deployment) -> int:
    parallel = in_blocks(deployment).model.parallel
    return max(*(getattr(parallel, name) or 1 for name in RANKS), 1)


def _tunes_nccl(dimension: Dimension) -> bool:
    """Whether a dimension sets nothing but variables that are meant for decode's all-reduce."""
    path = spelled(dimension.key)
    if len(path) > 1:
        return tunes_decode(path[0], path[1])
    return path == ("nccl",) and all(tunes_decode(*spelled(f"nccl.{name}")) for name in dimension.fields())


def _may_decide(key: str) -> bool:
    path = setting(key)
    return may_decide(path[0], path[-1])


def _look(space: Space, deciding: list[Dimension], asleep: Asleep) -> list[tuple[Mapping[str, Any], str]]:
    """(values of the deciding keys, why NCCL is asleep under them) for every combination that can be made;
    empty where there are too many."""
    total = 1
    for dimension in deciding:
        total *= dimension.size
    return list(_each(space, deciding, asleep)) if total <= MOST_LOOKED_AT else []


def _each(space: Space, deciding: list[Dimension], asleep: Asleep) -> Iterator[tuple[Mapping[str, Any], str]]:
    for picks in itertools.product(*(tuple(dimension.points()) for dimension in deciding)):
        values: dict[str, Any] = {}
        for dimension, pick in zip(deciding, picks, strict=True):
            if space.in_play(dimension, values):
                values[dimension.key] = dimension.value(pick)
        try:
            deployment = apply(space.base, values)
        except UsageError:
            continue  # no arm either; what reads the space says so
        yield values, asleep(deployment)


def _condition(key: str, found: list[tuple[Mapping[str, Any], str]]) -> Condition | None:
    """That ``key`` alone decides, with the values under which NCCL is asleep; None where it does not."""
    idle: list[Any] = []
    awake: list[Any] = []
    reason = ""
    for values, why in found:
        if key not in values:
            return None
        (idle if why else awake).append(values[key])
        reason = reason or why
    if any(value in awake for value in idle):
        return None
    kept = [value for index, value in enumerate(idle) if value not in idle[:index]]
    return Condition(key, tuple(kept), reason)
