"""Runs the all-reduce benchmark: fresh processes for every launch, in interleaved rounds.

While one launch prepares, the next already imports torch; the timed part begins only when those ranks have
finished importing and sleep, so that nothing of ours runs beside it.
"""

from __future__ import annotations

import select
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.launches import Launch
from eaglecfg.nccl.bench.plan import BenchPlan, Job, jobs
from eaglecfg.nccl.bench.setting import DEFAULT
from eaglecfg.nccl.bench.size import size_words
from eaglecfg.source.secrets import redact_text
from eaglecfg.tune.collective_ranks import Rank, RankGroup, exit_status, nccl_lines, tail
from eaglecfg.tune.failure import classify, shown

LOOK_S = 1.0
"""How often silence is looked for; what a rank says is heard at once."""

PORT_TAKEN = ("EADDRINUSE", "Address already in use", "address already in use")

Hear = Callable[[str, Mapping[str, Any]], None]
"""Told of ``job`` (a launch begins), ``step`` (it moves) and ``launch`` (it has ended)."""


class Failed(Exception):
    """A launch that did not go to its end: class, sentence, and the rank that shows why."""

    def __init__(self, failure: str, message: str, rank: Rank | None = None) -> None:
        super().__init__(message)
        self.failure, self.message, self.rank = failure, message, rank


class Collectives:
    """One run of a plan. ``launches`` grows while it runs, so that an interrupt loses nothing."""

    def __init__(self, plan: BenchPlan, environment: Mapping[str, str], hear: Hear) -> None:
        self.plan, self.environment, self.hear = plan, environment, hear
        self.launches: list[Launch] = []
        self.failed: set[str] = set()
        self.standby: RankGroup | None = None
        self.group: RankGroup | None = None
        self.folder = Path()
        self.count = 0

    def run(self) -> None:
        """Launch all that the plan wants. A setting that fails is not launched again; where the default fails
        its check, nothing else is launched."""
        self.folder = Path(tempfile.mkdtemp(prefix="eaglecfg-bench-"))
        try:
            wanted = list(jobs(self.plan))
            while (job := self._next(wanted)) is not None:
                wanted = wanted[wanted.index(job) + 1 :]
                self.hear("job", {"job": job})
                launch = self._launch(job, self._next(wanted))
                self.launches.append(launch)
                if launch.failure:
                    self.failed.add(job.setting.name)
                self.hear("launch", {"launch": launch})
                if launch.failure and job.setting.name == DEFAULT and job.kind == "check":
                    return
        finally:
            for group in (self.group, self.standby):
                if group is not None:
                    group.end()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _next(self, wanted: list[Job]) -> Job | None:
        return next((job for job in wanted if job.setting.name not in self.failed), None)

    def _launch(self, job: Job, following: Job | None, again: bool = False) -> Launch:
        begun = time.monotonic()
        group = self._take(job)
        failed: Failed | None = None
        try:
            self._watch(group, following)
            group.leave()
        except Failed as error:
            failed = error
            if error.failure != "hang":  # who hangs says nothing more
                group.last_words()
        # Logs are read before the kill, which is also the end of what they could say.
        lines = self._lines(group, failed)
        log = nccl_lines(group.ranks[0]) if job.kind == "check" else ""
        left = group.end()
        self.group = None
        if failed is not None and not again and any(sign in " ".join(lines) for sign in PORT_TAKEN):
            return self._launch(job, following, again=True)  # somebody took the port in between
        seconds = round(time.monotonic() - begun, 3)
        launch = gathered(job, group, seconds, redact_text(log))
        if failed is None and not left:
            return launch
        message = "; ".join([failed.message if failed is not None else "its sums and times are good", *left])
        return Launch(
            job.setting.name,
            job.kind,
            job.round,
            seconds,
            failed.failure if failed is not None else "hang",
            redact_text(message),
            lines,
            facts=launch.facts,
            checked=launch.checked,
            log=launch.log,
        )

    def _start(self, job: Job) -> RankGroup:
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        try:
            return RankGroup(self.plan, job, self.environment, folder)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"{self.plan.python} cannot be started: {reason}; --python names the one that has torch"
            ) from error

    def _take(self, job: Job) -> RankGroup:
        """The ranks of ``job``: those that have been started for it, or new ones."""
        standby, self.standby = self.standby, None
        if standby is not None and (standby.job is not job or standby.lost() is not None):
            standby.end()
            standby = None
        self.group = standby if standby is not None else self._start(job)
        return self.group

    def _watch(self, group: RankGroup, following: Job | None) -> None:
        """Take a launch through its steps. Raises Failed."""
        gone = measuring = False
        while not group.all_have("done"):
            if not gone and group.all_have("imported"):
                gone = True
                group.go()
                if following is not None:
                    self.standby = self._start(following)
            if not measuring and group.all_have("ready") and self._standby_sleeps():
                measuring = True
                group.say("measure")
            self._hear(group)
            failure = self._failure(group, waits=group.all_have("ready") and not measuring)
            if failure is not None:
                raise failure

    def _hear(self, group: RankGroup) -> None:
        """Sleep until somebody speaks or it is time to look."""
        waiting = [*group.waiting, *(self.standby.waiting if self.standby is not None else ())]
        ready = select.select(waiting, [], [], min(LOOK_S, self.plan.limit_s / 4))[0]
        for event in group.hear():
            self.hear("step", {"event": event})
        if self.standby is not None and set(ready) & set(self.standby.waiting):
            self.standby.hear()

    def _standby_sleeps(self) -> bool:
        """Whether the next launch has finished importing; one that cannot is put away."""
        if self.standby is None or self.standby.all_have("imported"):
            return True
        stuck = self.standby.silent_s() > self.plan.limit_s
        late = time.monotonic() - self.standby.begun > self.plan.import_s
        if stuck or late or self.standby.lost() is not None:
            self.standby.end()
            self.standby = None
            return True
        return False

    def _failure(self, group: RankGroup, *, waits: bool) -> Failed | None:
        """What is wrong with a launch, None while it is well. ``waits``: it waits for us."""
        for rank in group.ranks:
            for event in rank.told:
                if event["event"] == "wrong":
                    return Failed("wrong", _wrong(event), rank)
                if event["event"] == "error":
                    return Failed("error", f"rank {rank.number}: {_first_line(event)}", rank)
        lost = group.lost()
        if lost is not None:
            return self._exit(group, lost)
        if not group.all_have("imported") and time.monotonic() - group.begun > self.plan.import_s:
            return Failed("start", f"importing torch took longer than {self.plan.import_s:g} s")
        if not waits and group.silent_s() > self.plan.limit_s:
            return Failed("hang", f"no step for {self.plan.limit_s:g} s (--time-limit): {group.silence()}")
        return None

    def _exit(self, group: RankGroup, rank: Rank) -> Failed | None:
        """What a rank that has gone left behind."""
        time.sleep(0.1)  # its pipe closes a moment before its status can be read
        before = len(rank.told)
        group.hear()
        if len(rank.told) > before:
            return None  # its last words had not been heard; they say more
        code = exit_status(rank.process)
        if code is None:
            return Failed("exit", f"rank {rank.number} closed its channel in {rank.doing()}", rank)
        how = f"by {signal_name(-code)}" if code < 0 else f"with status {code}"
        kind = "exit" if rank.told else "start"
        return Failed(kind, f"rank {rank.number} ended {how} in {rank.doing()}", rank)

    def _lines(self, group: RankGroup, failed: Failed | None) -> tuple[str, ...]:
        """The log lines that decide a failure."""
        if failed is None or failed.failure == "wrong":
            return ()
        first = [failed.rank] if failed.rank is not None else []
        told = tail([*first, *(rank for rank in group.ranks if rank not in first)])
        lines = [line for line in told if "NCCL INFO" not in line]  # of a check; causes are warnings
        if failed.failure == "hang":
            return shown([line for line in lines if "NCCL WARN" in line])
        kind, found = classify(lines, default="crash")
        # An exception that no library's own line explains is in the message already.
        return () if kind == "crash" and failed.failure == "error" else found


def signal_name(number: int) -> str:
    """``SIGKILL``; the number of a signal that has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def gathered(job: Job, group: RankGroup, seconds: float, log: str) -> Launch:
    """The launch as its ranks told it: of every replay the slowest rank's time."""
    samples: dict[int, list[float]] = {}
    around: dict[int, list[float]] = {}
    calls: dict[int, int] = {}
    told = [_by_turn(rank) for rank in group.ranks]
    for key in told[0]:
        if all(key in each for each in told):
            size = key[0]
            rows = [each[key]["us"] for each in told]
            samples.setdefault(size, []).extend(max(column) for column in zip(*rows, strict=True))
            around.setdefault(size, []).append(max(each[key]["around_us"] for each in told))
    for event in _events(group.ranks[0], "captured"):
        calls[event["size"]] = event["calls"]
    return Launch(
        job.setting.name,
        job.kind,
        job.round,
        seconds,
        samples={size: tuple(values) for size, values in samples.items()},
        around={size: statistics.median(values) for size, values in around.items()},
        calls=calls,
        facts=_facts(group),
        checked=sum(_comparisons(rank, group.plan.graph) for rank in group.ranks),
        log=log,
    )


def _by_turn(rank: Rank) -> dict[tuple[int, int], dict[str, Any]]:
    return {(event["size"], event["turn"]): event for event in _events(rank, "timed")}


def _events(rank: Rank, name: str) -> Iterator[dict[str, Any]]:
    return (event for event in rank.told if event["event"] == name)


def _comparisons(rank: Rank, graph: bool) -> int:
    """How often this rank compared a whole message with the sum that it must be."""
    rounds = sum(int(event["rounds"]) for event in _events(rank, "checked")) * (2 if graph else 1)
    return rounds + sum(1 for _ in _events(rank, "timed")) + sum(1 for _ in _events(rank, "captured"))


def _facts(group: RankGroup) -> dict[str, Any]:
    """Versions as rank 0 saw them, and each rank's GPU."""
    first = next(_events(group.ranks[0], "imported"), {})
    devices = [next(_events(rank, "device"), {}) for rank in group.ranks]
    facts = {name: first.get(name, "") for name in ("python", "torch", "cuda", "glibc")}
    facts |= {name: devices[0].get(name, "") for name in ("nccl", "driver")}
    facts["gpus"] = [
        {"name": device["gpu"], "uuid": device.get("uuid", "")} for device in devices if "gpu" in device
    ]
    return facts


def _wrong(event: Mapping[str, Any]) -> str:
    return (
        f"rank {event['rank']} holds a wrong sum ({size_words(event['size'])}, {event['dtype']}, "
        f"{event['mode']}): {event['count']} of {event['of']} values differ, the first at {event['first']}: "
        f"expected {event['expected']:g}, got {event['got']:g}"
    )


def _first_line(event: Mapping[str, Any]) -> str:
    text = str(event["message"]).strip().splitlines()
    return f"{event['kind']}: {text[0][:300]}" if text else str(event["kind"])
