"""What a launch left behind that could not be ended: nothing more is launched until it is gone."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eaglecfg.machine.processes import boot_id
from eaglecfg.tune.gpu import find_gpus, wait_for_memory
from eaglecfg.tune.ledger import Event
from eaglecfg.tune.orphans import STOP_S, end_orphans
from eaglecfg.tune.process import boot_of
from eaglecfg.tune.trial import Cleanup, LaunchRecord

KIND, CLEARED = "quarantine", "cleared"
"""Events of the ledger: something was left; it is gone."""

TOLERANCE_MIB = 64.0
"""How far GPU memory may stay above its level before the launch."""


def kept_of(command_stop: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """What the ledger keeps of a launch when its server is started: enough to find its processes, and to know
    whether its port and its GPUs are as they were."""
    kept = {
        name: data[name] for name in ("pid", "identity", "marker", "started", "folder", "port", "gpu_mib")
    }
    return {**kept, "stop": command_stop if command_stop == "group" else list(command_stop)}


def launch_record(data: Mapping[str, Any]) -> LaunchRecord:
    """The record of a launch as the ledger has it."""
    stop = data.get("stop", "group")
    return LaunchRecord(
        data["pid"],
        data["identity"],
        data["marker"],
        data["folder"],
        stop if stop == "group" else tuple(stop),
    )


def end_left(data: Mapping[str, Any], left: Sequence[str] = (), limit_s: float = STOP_S) -> Cleanup:
    """End what still runs of a launch, and look whether its port, its shared memory and its GPUs are free.

    ``data`` is the ledger's ``running`` event, ``left`` what was found left before. After a reboot all is
    gone.
    """
    record = launch_record(data)
    cleanup = end_orphans([record])[record.marker]
    if boot_of(record.identity) != boot_id():
        return cleanup
    found = [*cleanup.leftovers]
    port = data.get("port")
    if record.stop != "group" and isinstance(port, int) and answers(port):
        found.append(f"port {port}")
    found += [name for name in left if name.startswith("/dev/shm/") and Path(name).exists()]
    before = {str(uuid): float(mib) for uuid, mib in data.get("gpu_mib", {}).items()}
    gpus = [gpu for gpu in find_gpus(None) if gpu.uuid in before] if before else []
    begun = time.monotonic()
    found += wait_for_memory(gpus, before, TOLERANCE_MIB, limit_s)
    unseen = sorted(set(before) - {gpu.uuid for gpu in gpus})
    found += [f"GPU {uuid}, which cannot be looked at any more" for uuid in unseen]
    seconds = round(cleanup.seconds + time.monotonic() - begun, 3)
    return replace(cleanup, proven=cleanup.proven and not found, leftovers=tuple(found), seconds=seconds)


def answers(port: int) -> bool:
    """Whether anybody accepts connections on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def open_quarantines(events: Sequence[Event]) -> list[Event]:
    """Quarantines that have not been lifted."""
    found: dict[str, Event] = {}
    for event in events:
        if event.kind == KIND:
            found[event.data["launch"]["marker"]] = event
        elif event.kind == CLEARED:
            found.pop(event.data["marker"], None)
    return list(found.values())


def diagnosis(name: str, left: Sequence[str]) -> str:
    """Why nothing more is launched, and what to do."""
    return (
        f"{name} left behind what could not be ended: {'; '.join(left)}. Nothing is launched beside that; "
        f"end it by hand, then the same command looks again and goes on."
    )
