"""One launch: start a server, wait for a real answer, measure, stop it, prove that nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eaglecfg.tune import gpu
from eaglecfg.tune.client import Client, Sampling, Unanswered
from eaglecfg.tune.failure import classify, exit_words, read_tail, shown
from eaglecfg.tune.measure import BadOutput, Measurement, fault_of
from eaglecfg.tune.orphans import LOG
from eaglecfg.tune.process import command_line, holds_socket, listening_sockets
from eaglecfg.tune.pulse import Pulse
from eaglecfg.tune.redact import redact_arguments, redact_data, redact_environment
from eaglecfg.tune.supervise import Order
from eaglecfg.tune.supervision import Supervision
from eaglecfg.tune.trial import (
    Cleanup,
    FailureClass,
    LaunchResult,
    Limits,
    MeasurePlan,
    Prompt,
    ServerCommand,
)

Progress = Callable[[str, Mapping[str, Any]], None]

WATCH_S = 0.1
"""How often the limits are looked at."""
DEATH_S = 1.5
"""A broken connection is a dying process if its exit is seen within this time, else the server's own fault.
"""
READY_TOKENS = 4
OUT_OF_REACH = frozenset({"docker", "podman", "nerdctl", "srun", "ssh", "kubectl", "systemd-run", "ray"})
"""Prefixes whose server does not run below the supervisor, so that only a stop command can end it."""


class _Failed(Exception):
    """The launch ends here, with a class that needs no log."""

    def __init__(self, failure: FailureClass, message: str) -> None:
        super().__init__(message)
        self.failure = failure


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
) -> LaunchResult:
    """Launch, measure and stop one server; blocks until it is gone.

    ``marker`` has to be unique among all launches of the machine. ``environment`` is what the server
    inherits (None: what this process has). ``progress`` hears ``started`` (pid, identity, marker, folder,
    before the server exists), ``ready``, ``warmup``, ``block``, ``check``, ``stopping`` and ``stopped``;
    what it raises ends the launch. Command, environment, log, raw requests and result are written to
    ``folder``. Raises KeyboardInterrupt after the server was stopped, and OSError where the folder can't be
    written.
    """
    if not prompts:
        raise ValueError("a launch needs at least one prompt")
    return _Launch(command, plan, prompts, folder, limits, marker, progress, environment).run()


class _Launch:
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
    ) -> None:
        self.command, self.plan, self.prompts, self.limits = command, plan, prompts, limits
        self.folder, self.marker, self.progress, self.environment = folder, marker, progress, environment
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / LOG
        self.port = free_port()
        self.filled = {"{cid}": marker, "{marker}": marker, "{port}": str(self.port)}
        self.argv = (*map(self.fill, command.argv), "--host", "127.0.0.1", "--port", str(self.port))
        self.pulse = Pulse(limits.hang_floor_s, limits.hang_steps, limits.startup_s)
        visible = {**(environment or {}), **command.env}.get("CUDA_VISIBLE_DEVICES")
        self.gpus = gpu.find_gpus(visible)
        self.memory_before = gpu.memory_mib(self.gpus)
        self.begun = time.monotonic()
        self.started = time.time()
        self.timings: dict[str, float] = {}
        self.startup_s: float | None = None
        self.warm = False
        self.measurement: Measurement | None = None
        self.server_info: dict[str, Any] = {}
        self.failure: FailureClass | None = None
        self.message = ""
        self.lines: tuple[str, ...] = ()

    def fill(self, word: str) -> str:
        """An argument with the launch's placeholders filled in."""
        for placeholder, value in self.filled.items():
            word = word.replace(placeholder, value)
        return word

    # -- the whole of it ------------------------------------------------------------------------------------------

    def run(self) -> LaunchResult:
        self.write("command.json", self.describe())
        self.supervision = Supervision(self.folder)
        cleanup = Cleanup(False, 0.0)
        try:
            about = {
                "pid": self.supervision.pid,
                "identity": self.supervision.identity,
                "marker": self.marker,
            }
            about |= {"started": self.started, "folder": str(self.folder), "port": self.port}
            self.progress("started", about)
            self.supervision.give(self.order())
            with gpu.sampling(self.gpus, self.folder / "gpu.jsonl"):
                asyncio.run(self.drive())
        finally:
            cleanup = self.stop()
            self.progress(
                "stopped", {"proven": cleanup.proven, "seconds": cleanup.seconds, "note": cleanup.note}
            )
        result = self.result(cleanup)
        self.write("result.json", as_plain(result))
        return result

    def order(self) -> Order:
        stop = (
            self.command.stop if self.command.stop == "group" else [self.fill(w) for w in self.command.stop]
        )
        return Order(
            argv=list(self.argv),
            environment=None if self.environment is None else dict(self.environment),
            extra={name: self.fill(value) for name, value in self.command.env.items()},
            cwd=str(Path.cwd()),
            log=str(self.log),
            events=str(self.folder / "supervisor.jsonl"),
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
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, read_bufsize=1 << 20
        ) as session:
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
        self.write("server_info.json", redact_data(self.server_info))
        self.progress("ready", {"startup_s": round(self.startup_s, 3)})
        steps = self.server_info.get("speculative_num_steps")
        with (self.folder / "requests.jsonl").open("a", encoding="utf-8") as stream:

            def record(rows: Sequence[Mapping[str, Any]]) -> None:
                stream.writelines(json.dumps(row) + "\n" for row in rows)
                stream.flush()

            self.measurement = Measurement(
                client, self.plan, self.prompts, self.pulse, self.progress, record, steps
            )
            await self.measurement.run(self.warmed)
        self.timings["measure"] = time.monotonic() - self.begun - sum(self.timings.values())

    def warmed(self) -> None:
        if not self.warm:
            self.warm = True
            self.timings["warmup"] = time.monotonic() - self.begun - self.timings["startup"]

    # -- ready, limits --------------------------------------------------------------------------------------------

    async def wait_until_ready(self, client: Client) -> None:
        """Ready is one real generation by our own server: health alone has lied, and a port can be somebody
        else's."""
        sampling = Sampling(READY_TOKENS)
        while True:
            if await client.healthy():
                self.check_owner()
                with contextlib.suppress(Unanswered):
                    exchange = await client.generate(self.prompts[0], sampling)
                    fault = fault_of(exchange, sampling)
                    if not fault:
                        return
                    if not fault.startswith("HTTP 5"):
                        raise BadOutput(f"the first generation failed: {fault}")
            await asyncio.sleep(min(0.5, 0.02 + (time.monotonic() - self.begun) / 50))

    def check_owner(self) -> None:
        """The port was free when it was chosen; make sure that the one who answers on it is our server."""
        if self.command.stop != "group":
            return
        sockets = listening_sockets(self.port)
        if sockets and not holds_socket([process.pid for process in self.supervision.living()], sockets):
            raise _Failed(
                "machine", f"port {self.port} was taken by another program before the server had it"
            )

    async def watch(self) -> None:
        """Return when a limit is over. Until the first warm-up ends there is only the start-up limit."""
        while True:
            await asyncio.sleep(WATCH_S)
            if self.warm and self.pulse.hangs:
                return
            if not self.warm and time.monotonic() - self.begun > self.limits.startup_s:
                return

    # -- what came of it ------------------------------------------------------------------------------------------

    async def judge(self, work: asyncio.Task[None], ended: asyncio.Task[None]) -> None:
        """Set failure, message and lines. Something among work, exit and limits has come to an end."""
        error = work.exception() if work.done() and not work.cancelled() else None
        if isinstance(error, Unanswered) and not ended.done():
            await asyncio.wait({ended}, timeout=DEATH_S)
        if work.done() and error is None:
            self.check_client()
        elif isinstance(error, _Failed):
            self.fail(error.failure, str(error))
        elif ended.done():
            self.judge_exit()
        elif isinstance(error, BadOutput):
            self.fail("output", str(error), shown(read_tail(self.log)[-3:]))
        elif isinstance(error, Unanswered):
            self.fail(*self.from_log("crash", f"the server broke off an answer ({error}) but did not exit"))
        elif error is not None:
            raise error
        else:
            self.judge_limit()

    def judge_exit(self) -> None:
        events = self.supervision.events
        if "failed" in events:
            self.fail("startup", f"the launch command can't be started: {events['failed']['error']}")
        elif "exit" not in events:
            self.fail("machine", "the supervisor was killed")
        else:
            how = exit_words(events["exit"]["code"], events["exit"]["signal"])
            when = (
                "during start-up"
                if self.startup_s is None
                else "during warm-up"
                if not self.warm
                else "under load"
            )
            self.fail(*self.from_log("crash", f"the server ended {when} with {how}", exited=True))

    def judge_limit(self) -> None:
        self.write("processes.json", self.states())
        if self.warm:
            silence, allowed = self.pulse.silence_s, self.pulse.allowed_s
            self.fail(*self.from_log("hang", f"no token for {silence:.1f} s, allowed were {allowed:.1f} s"))
            return
        what = "no answer" if self.startup_s is None else "the warm-up did not end"
        self.fail(
            *self.from_log("startup", f"{what} within the start-up limit of {self.limits.startup_s:g} s")
        )

    def from_log(
        self, default: FailureClass, message: str, *, exited: bool = False
    ) -> tuple[FailureClass, str, tuple[str, ...]]:
        starting = exited and self.startup_s is None
        failure, lines = classify(read_tail(self.log), default=default, starting=starting)
        return failure, message, lines

    def fail(self, failure: FailureClass, message: str, lines: tuple[str, ...] = ()) -> None:
        self.failure, self.message, self.lines = failure, message, lines

    def check_client(self) -> None:
        """Numbers of a load generator that could not keep up are not the server's."""
        lag = (
            max((block.client_lag_ms for block in self.measurement.blocks), default=0.0)
            if self.measurement
            else 0
        )
        if lag > self.limits.client_lag_ms:
            limit = self.limits.client_lag_ms
            self.fail("client", f"the load generator was {lag:.0f} ms late, allowed are {limit:g} ms")

    def states(self) -> list[dict[str, Any]]:
        """What every process of the launch was doing when it hung."""
        found = []
        for process in self.supervision.living():
            with contextlib.suppress(OSError):
                waits = Path(f"/proc/{process.pid}/wchan").read_text()
                seen = {"pid": process.pid, "name": process.name, "state": process.state, "waits_in": waits}
                found.append({**seen, "command": redact_arguments(command_line(process.pid).split())})
        return found

    def stop(self) -> Cleanup:
        """Stop the server and prove it: processes, port, shared memory by the supervisor, GPU memory here."""
        self.progress("stopping", {})
        event = self.supervision.stop()
        left = [*event["leftovers"]]
        remaining = max(1.0, self.limits.stop_s - event["seconds"])
        begun = time.monotonic()
        left += gpu.wait_for_memory(self.gpus, self.memory_before, self.limits.gpu_tolerance_mib, remaining)
        notes = [event["note"]] if event["note"] else []
        seconds = event["seconds"] + time.monotonic() - begun
        self.timings["stop"] = seconds
        proven = not left and not event.get("lost") and (self.command.stop == "group" or not event["note"])
        program = Path(self.argv[0]).name
        if self.command.stop == "group" and program in OUT_OF_REACH:
            proven = False
            notes.append(
                f"clean-up not provable: {program} runs the server outside the process tree; name a stop command"
            )
        return Cleanup(proven, round(seconds, 3), tuple(left), "; ".join(notes))

    def result(self, cleanup: Cleanup) -> LaunchResult:
        measurement = self.measurement
        return LaunchResult(
            outcome="ok" if self.failure is None else "failed",
            failure=self.failure,
            lines=self.lines,
            startup_s=None if self.startup_s is None else round(self.startup_s, 3),
            blocks=tuple(measurement.blocks) if measurement else (),
            outputs=tuple(measurement.outputs) if measurement else (),
            server_info=redact_data(self.server_info),
            runs={name: value for name, value in self.server_info.items() if is_setting(value)},
            cleanup=cleanup,
            pid=self.supervision.pid,
            started=self.started,
            marker=self.marker,
            folder=str(self.folder),
            message=self.message,
            identity=self.supervision.identity,
            timings={name: round(seconds, 3) for name, seconds in self.timings.items()},
        )

    def describe(self) -> dict[str, Any]:
        """What is launched, for the record: secrets out."""
        return {
            "argv": redact_arguments(self.argv),
            "env": redact_environment(self.command.env),
            "environment": None if self.environment is None else redact_environment(self.environment),
            "cwd": str(Path.cwd()),
            "marker": self.marker,
            "port": self.port,
            "started": self.started,
            "plan": as_plain(self.plan),
            "limits": as_plain(self.limits),
            "host": {"name": socket.gethostname(), "kernel": platform.release(), "cpus": os.cpu_count()},
            "gpu_memory_mib": self.memory_before,
        }

    def write(self, name: str, data: Any) -> None:
        (self.folder / name).write_text(json.dumps(data, indent=1, default=str) + "\n", encoding="utf-8")


def free_port() -> int:
    """A TCP port that is free now; whoever binds it first has it, so that a server may still lose it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_setting(value: Any) -> bool:
    """Whether a value of /server_info can be that of a flag: nothing nested but lists of plain values."""
    if isinstance(value, list):
        return all(item is None or isinstance(item, (str, int, float, bool)) for item in value)
    return value is None or isinstance(value, (str, int, float, bool))


def as_plain(value: Any) -> Any:
    """A dataclass as data for JSON."""
    import dataclasses

    return dataclasses.asdict(value)
