"""The coordinator's end of a supervisor: start it, give the order, hear its events, have the tree ended."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglecfg.machine.processes import Process, read_process
from eaglecfg.tune.ending import end_all, run_stop_command
from eaglecfg.tune.process import identity_of, of_launch
from eaglecfg.tune.supervise import Order

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
SLACK_S = 5.0
"""What the supervisor may need beyond the limits of its order before the coordinator ends the tree itself.
"""


class Supervision:
    """One supervisor process, started but idle until ``give``."""

    def __init__(self, folder: Path) -> None:
        with (folder / "supervisor.log").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "eaglecfg.tune.supervise"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=PACKAGE_ROOT,  # so that a checkout that is not installed is found as well
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input = self._process.stdin
        self._output = self._process.stdout.fileno()
        self._rest = b""
        self._order: Order | None = None
        self.pid = self._process.pid
        self.identity = identity_of(self.pid)
        own = read_process(self.pid)
        self.since = own.ticks if own is not None else 0
        self.events: dict[str, Mapping[str, Any]] = {}
        self.seen: set[tuple[int, int]] = set()
        self.closed = False

    def give(self, order: Order) -> None:
        """Have the server started."""
        self._order = order
        self._write((json.dumps(dataclasses.asdict(order)) + "\n").encode())

    def look(self) -> None:
        """Have the supervisor note the tree's processes and shared memory; cheap, but not while timing."""
        self._write(b"look\n")

    def living(self) -> list[Process]:
        """What runs of the launch now."""
        if self._order is None:
            return []
        log = Path(self._order.log)
        return of_launch(self._order.marker, since=self.since, root=self.pid, log=log, known=self.seen)

    async def ended(self) -> None:
        """Return when the server has exited, could not be started, or the supervisor itself has died."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def readable() -> None:
            self._read()
            if (self.closed or "exit" in self.events or "failed" in self.events) and not done.done():
                done.set_result(None)

        loop.add_reader(self._output, readable)
        try:
            await done
        finally:
            loop.remove_reader(self._output)

    def stop(self) -> Mapping[str, Any]:
        """Have everything ended; returns the supervisor's ``stopped`` event, or the like of it made here.

        An interrupt does not cut this short: the wait is bounded, and it is raised again at its end.
        """
        if self._order is not None:
            self._write(b"stop\n")
        else:
            self._input.close()
        limits = 0.0 if self._order is None else self._order.stop_s
        if self._order is not None and self._order.stop != "group":
            limits *= 2
        deadline = time.monotonic() + limits + SLACK_S
        interrupted: KeyboardInterrupt | None = None
        while "stopped" not in self.events and not self.closed and time.monotonic() < deadline:
            try:
                select.select([self._output], [], [], 0.5)
                self._read(wait=False)
            except KeyboardInterrupt as error:
                interrupted = error
        with contextlib.suppress(OSError):
            self._input.close()
        event = self.events.get("stopped") or self._end_without_supervisor()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(SLACK_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if interrupted is not None:
            raise interrupted
        return event

    def _end_without_supervisor(self) -> Mapping[str, Any]:
        """The supervisor was killed, or is stuck: do its work from here. Its own end is part of it."""
        if self._order is None:
            return {"leftovers": [], "seconds": 0.0, "note": ""}
        begun = time.monotonic()
        self._process.kill()
        note = run_stop_command(self._order.stop, self._order.stop_s)
        end_all(self.living, self._order.term_s, self._order.stop_s)
        left = [str(process) for process in self.living()]
        words = "the supervisor was lost; shared memory was not looked at"
        return {
            "leftovers": left,
            "seconds": round(time.monotonic() - begun, 3),
            "note": "; ".join(filter(None, (words, note))),
            "lost": True,
        }

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._input.write(data)
            self._input.flush()

    def _read(self, *, wait: bool = True) -> None:
        """Take in what the supervisor said. ``wait``: only called when there is something to read."""
        if not wait and not select.select([self._output], [], [], 0)[0]:
            return
        piece = os.read(self._output, 65536)
        if not piece:
            self.closed = True
            return
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            event = json.loads(line)
            self.events[event["event"]] = event
            if event["event"] == "seen":
                self.seen.update((pid, ticks) for pid, ticks in event["processes"])
