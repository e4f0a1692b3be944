"""During which boots of the machine a study's server was started well, as it is started now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.tune.ledger import Event
from eaglecfg.tune.process import boot_of

STARTING = ("engine", "launch.prefix", "launch.flags", "launch.env")
"""What decides, besides the setting, which kernels are compiled and which files are read. Other prompts or
lengths do not."""


def boots_of(events: Sequence[Event], described: Mapping[str, Any]) -> frozenset[str]:
    """Boot ids of launches that went well. ``described`` is what the conditions are now made of; launches of
    a server that was started otherwise do not count."""
    now = _starting(described)
    here: Mapping[str, Any] = {}
    boots: dict[int, str] = {}
    found: set[str] = set()
    for event in events:
        data = event.data
        if event.kind == "session":
            here = data
        elif event.kind == "running":
            boots[data["n"]] = boot_of(data.get("identity", ""))
        elif event.kind == "ended" and not data["failure"] and _starting(here.get("described") or {}) == now:
            found.add(boots.get(data["n"], ""))
    return frozenset(found)


def _starting(described: Mapping[str, Any]) -> list[Any]:
    return [described.get(key) for key in STARTING]
