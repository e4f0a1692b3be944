"""What ``bench-allreduce`` shows on stderr while it runs, and the file of raw results."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import click

from eaglecfg import __version__
from eaglecfg.cli.bench_output import check_output, ends_in_a_line
from eaglecfg.cli.output import tell
from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.launches import FORMAT, Launch, launch_data, plan_data
from eaglecfg.nccl.bench.plan import BenchPlan, Job
from eaglecfg.nccl.bench.size import size_words
from eaglecfg.report.styled import visible
from eaglecfg.tune.plan import duration

ASSUMED_S = 6.0
"""Seconds of one launch until launches have been seen."""

LONGEST_STATUS = 100


def plan_lines(plan: BenchPlan, width: int) -> list[str]:
    """What will be launched, in lines of ``width`` columns."""
    sizes = ", ".join(size_words(size.bytes) for size in plan.sizes)
    count = len(plan.settings) * (plan.processes + 1)
    names = [
        f"{each.name} ({each.spelled})" if each.spelled not in ("", each.name) else each.name
        for each in plan.settings
    ]
    parts = f"{_counted(len(plan.settings), 'check')}, {_counted(plan.processes, 'timed round')}"
    return [
        *_folded("sizes", f"{sizes} of {plan.dtype}", width),
        *_folded("settings", "; ".join(map(visible, names)), width),
        *_folded(
            "launches",
            f"{parts}: {count} of {plan.ranks} processes, about {duration(count * ASSUMED_S)}",
            width,
        ),
    ]


def _folded(what: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=f"{what:<10}",
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


class Progress:
    """A line per launch, and on a terminal a status below it."""

    def __init__(self, plan: BenchPlan, terminal: bool) -> None:
        self.plan, self.terminal = plan, terminal
        self.total = len(plan.settings) * (plan.processes + 1)
        self.done = 0
        self.begun = time.monotonic()
        self.job: Job | None = None
        self.shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def hear(self, kind: str, about: Mapping[str, Any]) -> None:
        if kind == "job":
            self.job = about["job"]
            self._status("starting")
        elif kind == "step" and about["event"]["rank"] == 0:
            self._status(_step_words(about["event"]))
        elif kind == "launch":
            self.done += 1
            self._ended(about["launch"])

    def say(self, text: str) -> None:
        """A whole line."""
        self._clear()
        tell(text)

    def _head(self) -> str:
        assert self.job is not None
        where = "check" if self.job.kind == "check" else f"round {self.job.round + 1}"
        return f"[{self.done:>3}/{self.total}] {visible(self.job.setting.name)}, {where}"

    def _status(self, words: str) -> None:
        if not self.terminal:
            return
        text = f"{self._head()}: {words}"[:LONGEST_STATUS]
        click.echo("\r" + text.ljust(self.shown), err=True, nl=False)
        self.shown = len(text)

    def _clear(self) -> None:
        if self.shown:
            click.echo("\r" + " " * self.shown + "\r", err=True, nl=False)
            self.shown = 0

    def _ended(self, launch: Launch) -> None:
        if launch.failure:
            skipped = self._skipped(launch)
            self.total -= skipped
            self.say(f"{self._head()}: failed ({launch.failure}): {visible(launch.message)}")
            for text in launch.lines[-3:]:
                self.say(f"          {visible(text)}")
            return
        words = f"{launch.checked} sums right"
        if launch.kind == "time":
            times = [f"{size_words(size)} {launch.median(size) or 0:.2f}" for size in launch.samples]
            words = ", ".join(times[:8]) + " µs" + (f" and {len(times) - 8} more" if len(times) > 8 else "")
        each = (time.monotonic() - self.begun) / self.done
        left = duration(each * max(0, self.total - self.done))
        self.say(f"{self._head()}: {words}; {launch.seconds:.1f} s, {left} left")

    def _skipped(self, launch: Launch) -> int:
        """Launches of the setting that will not be made."""
        return self.plan.processes if launch.kind == "check" else self.plan.processes - launch.round - 1


def _step_words(event: Mapping[str, Any]) -> str:
    size = f" {size_words(event['size'])}" if "size" in event else ""
    return f"{event['event']}{size}"


class Raw:
    """The file of raw results; every line is on its way to the disk before the next launch begins."""

    def __init__(self, path: str | None, plan: BenchPlan) -> None:
        self.path, self.plan = path, plan
        self.stream: IO[str] | None = None

    def __enter__(self) -> Self:
        if self.path is not None:
            check_output(self.path)
            self.stream = open(self.path, "a", encoding="utf-8")  # noqa: PTH123 - closed in __exit__
            if not ends_in_a_line(Path(self.path)):
                self.stream.write("\n")
            self._write(
                {
                    "event": "start",
                    "format": FORMAT,
                    "tool": {"name": "eaglecfg", "version": __version__},
                    "time": time.time(),
                    "plan": plan_data(self.plan),
                }
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            with suppress(OSError):
                self.stream.close()

    def hear(self, kind: str, about: Mapping[str, Any]) -> None:
        """Write a launch down."""
        if kind == "launch":
            self._add({**launch_data(about["launch"]), "time": time.time()})

    def end(self) -> None:
        """The run went to its end."""
        self._add({"event": "end", "time": time.time()})

    def _add(self, data: Mapping[str, Any]) -> None:
        """A file that cannot be written any more does not end the run: the table is still to come."""
        try:
            self._write(data)
        except UsageError as error:
            self.stream = None
            tell(f"warning: {error}; what follows is in the table alone")

    def _write(self, data: Mapping[str, Any]) -> None:
        if self.stream is None:
            return
        try:
            self.stream.write(json.dumps(data) + "\n")
            self.stream.flush()
        except OSError as error:
            raise UsageError(f"{self.path}: {(error.strerror or str(error)).lower()}") from error
