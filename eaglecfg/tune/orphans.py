"""Ends what a coordinator left behind that was killed, and nothing else."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from eaglecfg.machine.processes import Process, boot_id, read_process
from eaglecfg.tune.ending import end_all, run_stop_command
from eaglecfg.tune.process import of_launch, send
from eaglecfg.tune.trial import Cleanup, LaunchRecord

STOP_S = 20.0
TERM_S = 2.0
LOG = "server.log"
"""Name of the server's log in a launch's folder."""
EVENTS = "supervisor.jsonl"
"""Name of the supervisor's own record there."""


def end_orphans(
    records: Iterable[LaunchRecord], *, term_s: float = TERM_S, stop_s: float = STOP_S
) -> dict[str, Cleanup]:
    """End the supervisors and servers of these launches; by marker, what was found and whether all of it is
    gone.

    A supervisor is known by pid and start time, its server by the launch's marker, by its log, or by pid
    and start time as the supervisor noted them; never is it older than the supervisor. After a reboot
    nothing of a launch can run, so nothing is touched.
    """
    return {record.marker: _end_one(record, term_s, stop_s) for record in records}


def _end_one(record: LaunchRecord, term_s: float, stop_s: float) -> Cleanup:
    begun = time.monotonic()
    boot, _, ticks = record.identity.rpartition(":")
    if not ticks.isdigit():
        return Cleanup(False, 0.0, note="the record does not say when the supervisor started")
    if boot != boot_id():
        return Cleanup(True, 0.0, note="the machine was booted since")
    since = int(ticks)
    log = Path(record.folder) / LOG if record.folder else None
    known = seen_by_supervisor(Path(record.folder) / EVENTS) if record.folder else set()

    def supervisor() -> list[Process]:
        process = read_process(record.pid)
        alive = process is not None and process.ticks == since and process.state not in "ZX"
        return [process] if alive and process is not None else []

    def servers() -> list[Process]:
        return of_launch(record.marker, since=since, log=log, known=known)

    # A living supervisor does the whole work, and better; it only has to be told, and given the time.
    note = ""
    found = supervisor()
    if found:
        send(found[0], signal.SIGTERM)
        while supervisor() and time.monotonic() - begun < stop_s:
            time.sleep(0.05)
        note = "ended by its supervisor"
    else:
        note = run_stop_command(record.stop, stop_s)
    ended = end_all(lambda: servers() + supervisor(), term_s, stop_s)
    left = tuple(str(process) for process in servers() + supervisor())
    return Cleanup(
        proven=not left and (record.stop == "group" or not note or bool(found)),
        seconds=round(time.monotonic() - begun, 3),
        leftovers=left,
        note="; ".join(filter(None, (note, *ended))),
    )


def seen_by_supervisor(events: Path) -> set[tuple[int, int]]:
    """(pid, ticks) of every process that the supervisor noted; a torn last line is left out."""
    seen: set[tuple[int, int]] = set()
    try:
        lines = events.read_text(encoding="utf-8").splitlines()
    except OSError:
        return seen
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            event = json.loads(line)
            if event["event"] == "seen":
                seen.update((int(pid), int(ticks)) for pid, ticks in event["processes"])
    return seen
