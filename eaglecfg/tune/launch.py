"""One launch: start a server, wait for a real answer, measure, stop it, prove that nothing is left."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from eaglecfg.machine.ports import free_port
from eaglecfg.machine.processes import listening_sockets
from eaglecfg.source.secrets import redact_arguments, redact_data, redact_environment
from eaglecfg.tune import gpu, record, verdict
from eaglecfg.tune.client import Client, Sampling, Unanswered
from eaglecfg.tune.measure import BadOutput, Enough, Measurement, fault_of, never
from eaglecfg.tune.orphans import EVENTS, LOG
from eaglecfg.tune.placement import OUT_OF_REACH, programs
from eaglecfg.tune.process import holds_socket
from eaglecfg.tune.pulse import Pulse
from eaglecfg.tune.supervise import Order
from eaglecfg.tune.supervision import Supervision
from eaglecfg.tune.surroundings import recorded
from eaglecfg.tune.trial import (
    Cleanup,
    LaunchResult,
    Limits,
    MeasurePlan,
    Prompt,
    ServerCommand,
)
from eaglecfg.tune.verdict import Failure

Progress = Callable[[str, Mapping[str, Any]], None]

WATCH_S = 0.1
"""How often the limits are looked at."""
DEATH_S = 1.5
"""A broken connection is a dying process if its exit is seen within this time, else the server's own fault.
"""
SAMPLES = "gpu.jsonl"
"""Name of what the GPUs did, in a launch's folder."""
OWNER_LOOKS_S = (0.0, 0.1, 0.3)
"""Pauses before each look at who holds the server's port; another program that holds it stays."""
READY_TOKENS = 4
READ_BUFFER = 1 << 20
"""Chunks repeat the whole answer so far, so that a fast server sends many times what it generates."""


NOT_YET = ("HTTP 502", "HTTP 503", "HTTP 504")
"""What a server, or what stands before it, answers while it is not ready."""
LEAST_BROKEN = 5
"""First generations in a row that are broken off at least before a server that is well counts as broken."""


class BrokenOff:
    """First generations in a row that broke, or failed inside of a server that said that it is well.

    A few may be its warm-up; one that goes on so will not mend until the start-up limit."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._count, self._since = 0, 0.0

    def over(self) -> None:
        """It answered something, or it is not well: that is for others to judge."""
        self._count = 0

    def again(self, fault: str) -> str:
        """Another one; once there were enough of them, that in words."""
        if not self._count:
            self._since = time.monotonic()
        self._count += 1
        seconds = time.monotonic() - self._since
        if self._count < LEAST_BROKEN or seconds < self._limit_s:
            return ""
        return (
            f"{self._count} first generations in a row over {seconds:.0f} s, while /health says that it "
            f"is well; the last: {fault}"
        )


class TakenPort(Exception):
    """Another program answers on the port that was free when it was chosen."""


def run_launch(
    command: ServerCommand,
    plan: MeasurePlan,
    prompts: Sequence[Prompt],
    folder: Path,
    limits: Limits,
    *,
    marker: str,
    progress: Progress,
    environment: Mapping[str, str] | None = None,
    gpus: Sequence[gpu.Gpu] | None = None,
    enough: Enough = never,
) -> LaunchResult:
    """Launch, measure and stop one server; blocks until it is gone.

    ``marker`` has to be unique among all launches of the machine. ``environment`` is what the server inherits
    (None: what this process has). ``gpus`` are those that it uses (None: all that can be seen): they have to
    be empty before, which is waited for, and after. ``enough`` may leave out the rest of the blocks at a
    concurrency. ``progress`` hears ``waiting`` (words on who uses them), ``started`` (pid, identity, marker,
    folder, before the server exists), ``ready``, ``warmup``, ``block``, ``check``, ``stopping`` and
    ``stopped``; what it raises ends the launch. Command, environment, log, raw requests and result are
    written to ``folder``. Raises KeyboardInterrupt after the server was stopped, and OSError where the folder
    can't be written.
    """
    if not prompts:
        raise ValueError("a launch needs at least one prompt")
    if gpus is None:
        gpus = gpu.find_gpus({**(environment or {}), **command.env}.get("CUDA_VISIBLE_DEVICES"))
    launch = _Launch(command, plan, prompts, folder, limits, marker, progress, environment, gpus)
    launch.enough = enough
    return launch.run()


class _Launch:
    supervision: Supervision

    def __init__(
        self,
        command: ServerCommand,
        plan: MeasurePlan,
        prompts: Sequence[Prompt],
        folder: Path,
        limits: Limits,
        marker: str,
        progress: Progress,
        environment: Mapping[str, str] | None,
        gpus: Sequence[gpu.Gpu],
    ) -> None:
        self.command, self.plan, self.prompts, self.limits = command, plan, prompts, limits
        self.folder, self.marker, self.progress, self.environment = folder, marker, progress, environment
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / LOG
        self.port = free_port()
        self.owners_seen = sees_socket_owners()
        self.filled = {"{cid}": marker, "{marker}": marker, "{port}": str(self.port)}
        self.argv = (*map(self.fill, command.argv), "--host", "127.0.0.1", "--port", str(self.port))
        self.pulse = Pulse(limits.hang_floor_s, limits.hang_steps, limits.startup_s)
        self.gpus = gpus
        self.memory_before: dict[str, float] = {}
        self.begun = time.monotonic()
        self.started = time.time()
        self.pid, self.identity = 0, ""
        self.enough: Enough = never
        self.timings: dict[str, float] = {}
        self.startup_s: float | None = None
        self.warm = False
        self.measurement: Measurement | None = None
        self.server_info: dict[str, Any] = {}
        self.verdict: Failure | None = None
        self.refused = ""

    def fill(self, word: str) -> str:
        """An argument with the launch's placeholders filled in."""
        for placeholder, value in self.filled.items():
            word = word.replace(placeholder, value)
        return word

    def run(self) -> LaunchResult:
        in_use = self.wait_for_gpus()
        self.begun, self.started = time.monotonic(), time.time()
        self.memory_before = gpu.memory_mib(self.gpus)
        record.write(self.folder, "command.json", self.describe(), private=True)
        if in_use:
            return self.not_started(in_use)
        self.supervision = Supervision(self.folder)
        self.pid, self.identity = self.supervision.pid, self.supervision.identity
        cleanup = Cleanup(False, 0.0)
        try:
            self.progress("started", self.about())
            self.supervision.give(self.order())
            with gpu.sampling(self.gpus, self.folder / SAMPLES):
                asyncio.run(self.drive())
        finally:
            cleanup = self.stop()
            self.progress("stopped", dataclasses.asdict(cleanup))
        result = self.result(cleanup)
        record.write(self.folder, "result.json", dataclasses.asdict(result))
        return result

    def wait_for_gpus(self) -> list[str]:
        """Wait until nobody else uses the GPUs; returns who still does at the limit, in words."""
        limits = self.limits

        def tell(words: Sequence[str]) -> None:
            self.progress("waiting", {"words": list(words), "limit_s": limits.gpu_wait_s})

        in_use = gpu.wait_until_empty(self.gpus, limits.foreign_mib, limits.gpu_wait_s, tell)
        self.timings["waited"] = time.monotonic() - self.begun
        return in_use

    def not_started(self, in_use: Sequence[str]) -> LaunchResult:
        """The result of a launch whose GPUs never became empty: nothing was started."""
        waited = f"still in use after {self.timings['waited']:.0f} s"
        self.verdict = Failure("machine", f"{waited}: {'; '.join(in_use)}")
        cleanup = Cleanup(True, 0.0)
        self.progress("stopping", {})
        self.progress("stopped", dataclasses.asdict(cleanup))
        result = self.result(cleanup)
        record.write(self.folder, "result.json", dataclasses.asdict(result))
        return result

    def about(self) -> dict[str, Any]:
        """What identifies the launch from outside."""
        return {
            "pid": self.pid,
            "identity": self.identity,
            "marker": self.marker,
            "started": self.started,
            "folder": str(self.folder),
            "port": self.port,
            "gpu_mib": {uuid: round(mib, 1) for uuid, mib in self.memory_before.items()},
        }

    def describe(self) -> dict[str, Any]:
        """What is launched, for the record: secrets out."""
        inherited = self.environment
        return {
            "argv": redact_arguments(self.argv),
            "env": redact_environment(self.command.env),
            "environment": None if inherited is None else recorded(inherited),
            "cwd": str(Path.cwd()),
            "marker": self.marker,
            "port": self.port,
            "started": self.started,
            "plan": dataclasses.asdict(self.plan),
            "limits": dataclasses.asdict(self.limits),
            "host": record.host(),
            "gpus": [{"index": one.index, "uuid": one.uuid} for one in self.gpus],
            "gpu_memory_mib": self.memory_before,
            "driver": gpu.driver_version(self.gpus),
        }

    def order(self) -> Order:
        """What the supervisor is to do."""
        given = self.command.stop
        stop = given if isinstance(given, str) else [self.fill(word) for word in given]
        return Order(
            argv=list(self.argv),
            environment=None if self.environment is None else dict(self.environment),
            extra={name: self.fill(value) for name, value in self.command.env.items()},
            cwd=str(Path.cwd()),
            log=str(self.log),
            events=str(self.folder / EVENTS),
            marker=self.marker,
            port=self.port,
            stop=stop,
            term_s=self.limits.term_s,
            stop_s=self.limits.stop_s,
        )

    async def drive(self) -> None:
        """Measure until done, until the server exits, or until a limit is over; whichever comes first."""
        import aiohttp

        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        session = aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=READ_BUFFER)
        async with session:
            work = asyncio.create_task(self.work(Client(session, self.port, self.pulse)))
            ended = asyncio.create_task(self.supervision.ended())
            watch = asyncio.create_task(self.watch())
            try:
                await asyncio.wait({work, ended, watch}, return_when=asyncio.FIRST_COMPLETED)
                await self.judge(work, ended)
            finally:
                for task in (work, ended, watch):
                    task.cancel()
                await asyncio.gather(work, ended, watch, return_exceptions=True)

    async def work(self, client: Client) -> None:
        """Everything that the server is asked for."""
        await self.wait_until_ready(client)
        self.startup_s = time.monotonic() - self.begun
        self.timings["startup"] = self.startup_s
        self.supervision.look()
        self.server_info = await client.server_info()
        client.virtual = bool(self.server_info.get("virtual_clock"))
        record.write(self.folder, "server_info.json", redact_data(self.server_info))
        self.progress("ready", {"startup_s": round(self.startup_s, 3)})
        steps = self.server_info.get("speculative_num_steps")
        with (self.folder / "requests.jsonl").open("a", encoding="utf-8") as stream:
            keep = record.rows_to(stream)
            self.measurement = Measurement(
                client, self.plan, self.prompts, self.pulse, self.progress, keep, steps, self.enough
            )
            await self.measurement.run(self.warmed)
        before = self.timings["startup"] + self.timings.get("warmup", 0.0)
        self.timings["measure"] = time.monotonic() - self.begun - before

    def warmed(self) -> None:
        if not self.warm:
            self.warm = True
            self.timings["warmup"] = time.monotonic() - self.begun - self.timings["startup"]

    async def wait_until_ready(self, client: Client) -> None:
        """Ready is one real generation by our own server: health has lied, and ports can be lost."""
        sampling, broken = Sampling(READY_TOKENS), BrokenOff(self.limits.broken_s)
        while True:
            if await client.healthy():
                await self.check_owner()
                try:
                    exchange = await client.generate(self.prompts[0], sampling)
                except Unanswered as error:
                    fault = f"the connection broke ({error})"
                    if words := broken.again(str(error)):
                        raise Unanswered(words) from error
                else:
                    fault = fault_of(exchange, sampling)
                    if not fault:
                        return
                    if not fault.startswith("HTTP 5"):
                        raise BadOutput(f"the first generation failed: {fault}")
                    if fault.startswith(NOT_YET):
                        broken.over()
                    elif words := broken.again(fault):
                        raise BadOutput(f"the server failed {words}")
                self.refused = fault
            else:
                broken.over()
            await asyncio.sleep(min(0.5, 0.02 + (time.monotonic() - self.begun) / 50))

    async def check_owner(self) -> None:
        """The port was free when it was chosen; make sure that the one who answers on it is our server.

        Sockets and their holders are two looks: a server that dies between them holds nothing, and the socket
        is gone at the next.
        """
        if self.command.stop != "group" or not self.owners_seen:
            return
        for pause in OWNER_LOOKS_S:
            await asyncio.sleep(pause)
            sockets = listening_sockets(self.port)
            if not sockets or holds_socket([process.pid for process in self.supervision.living()], sockets):
                return
        raise TakenPort(f"another program took port {self.port} before the server had it")

    async def watch(self) -> None:
        """Return when a limit is over. Until the first warm-up ends there is only the start-up limit."""
        while True:
            await asyncio.sleep(WATCH_S)
            if self.warm and self.pulse.hangs:
                return
            if not self.warm and time.monotonic() - self.begun > self.limits.startup_s:
                return

    async def judge(self, work: asyncio.Task[None], ended: asyncio.Task[None]) -> None:
        """Something among work, exit and limits has come to an end: say what it means."""
        error = work.exception() if work.done() and not work.cancelled() else None
        if isinstance(error, Unanswered) and not ended.done():
            await asyncio.wait({ended}, timeout=DEATH_S)
        answered = self.startup_s is not None
        if work.done() and error is None:
            blocks = self.measurement.blocks if self.measurement else []
            # Where the server tells the time itself, it does not matter how late the client is.
            virtual = bool(self.server_info.get("virtual_clock"))
            self.verdict = None if virtual else verdict.of_client(blocks, self.limits)
        elif isinstance(error, TakenPort):
            self.verdict = Failure("machine", str(error))
        elif ended.done():
            self.verdict = verdict.of_exit(
                self.supervision.events, self.log, answered=answered, warm=self.warm
            )
        elif isinstance(error, BadOutput):
            self.verdict = verdict.of_output(str(error), self.log)
        elif isinstance(error, Unanswered):
            self.verdict = verdict.of_broken_answer(str(error), self.log)
        elif error is not None:
            raise error
        else:
            record.write(
                self.folder, "processes.json", record.states(self.supervision.living()), private=True
            )
            if self.warm:
                self.verdict = verdict.of_silence(self.pulse, self.log)
            else:
                self.verdict = verdict.of_slow_start(
                    self.limits, self.log, answered=answered, refused=self.refused
                )

    def stop(self) -> Cleanup:
        """Stop the server and prove it: processes, port and shared memory there, GPU memory here."""
        try:
            self.progress("stopping", {})
        finally:
            event = self.supervision.stop()
        left = [*event["leftovers"]]
        remaining = max(1.0, self.limits.stop_s - event["seconds"])
        begun = time.monotonic()
        left += gpu.wait_for_memory(self.gpus, self.memory_before, self.limits.gpu_tolerance_mib, remaining)
        seconds = event["seconds"] + time.monotonic() - begun
        self.timings["stop"] = seconds
        notes = [event["note"]] if event["note"] else []
        proven = not left and not event.get("lost")
        if self.command.stop != "group":
            proven = proven and not notes
        elif runner := out_of_reach(self.argv):
            proven = False
            notes.append(f"clean-up can't be proven: {runner} runs the server elsewhere; give a stop command")
        return Cleanup(proven, round(seconds, 3), tuple(left), "; ".join(notes))

    def result(self, cleanup: Cleanup) -> LaunchResult:
        measurement, failure, info = self.measurement, self.verdict, redact_data(self.server_info)
        self.timings["total"] = time.monotonic() - self.begun
        return LaunchResult(
            outcome="ok" if failure is None else "failed",
            failure=failure.failure if failure else None,
            lines=failure.lines if failure else (),
            startup_s=None if self.startup_s is None else round(self.startup_s, 3),
            blocks=tuple(measurement.blocks) if measurement else (),
            answers=dict(measurement.answers) if measurement else {},
            warmups=tuple(measurement.warmups) if measurement else (),
            server_info=info,
            runs={name: value for name, value in info.items() if is_setting(value)},
            cleanup=cleanup,
            pid=self.pid,
            started=self.started,
            marker=self.marker,
            folder=str(self.folder),
            message=failure.message if failure else "",
            identity=self.identity,
            timings={name: round(seconds, 3) for name, seconds in self.timings.items()},
            doubtful=failure is not None and failure.doubtful,
            curtailed=tuple(measurement.curtailed) if measurement else (),
            held_back=gpu.held_back(self.folder / SAMPLES),
        )


@cache
def sees_socket_owners() -> bool:
    """Whether this kernel tells who holds a listening socket; tried once, on one of our own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        probe.listen(1)
        return holds_socket([os.getpid()], listening_sockets(probe.getsockname()[1]))


def out_of_reach(argv: Sequence[str]) -> str:
    """The program that takes the server out of the supervisor's reach, if the launch prefix has one."""
    return next((name for name in programs(argv) if name in OUT_OF_REACH), "")


def is_setting(value: Any) -> bool:
    """Whether a value of /server_info can be that of a flag: nothing nested but lists of plain values."""
    if isinstance(value, list):
        return all(item is None or isinstance(item, (str, int, float, bool)) for item in value)
    return value is None or isinstance(value, (str, int, float, bool))
