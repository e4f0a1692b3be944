"""What a running study shows: whole lines in a pipe, a live status line on a terminal."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import click

from eaglecfg.cli.output import shown
from eaglecfg.tune.conclusion import percent
from eaglecfg.tune.history import ROUND, History, Launch
from eaglecfg.tune.machine_check import good_checks
from eaglecfg.tune.opened import Opened
from eaglecfg.tune.plan import duration, make_plan
from eaglecfg.tune.ranking import best_so_far, luck_taken_off
from eaglecfg.tune.rewrites import pairs_of, rewrite_words
from eaglecfg.tune.schedule import Wanted

PHASES = {
    "search": "search",
    "anchor": "baseline again",
    "replicate": "leader again",
    "check": "machine check",
}


class Screen(Protocol):
    """Where progress goes."""

    def say(self, text: str) -> None: ...

    def status(self, text: str) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Lines:
    """Plain lines; the status is not shown."""

    def say(self, text: str) -> None:
        click.echo(text)

    def status(self, text: str) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Kept:
    """Another screen, and every line in a file as well. Once the terminal is gone, or nobody reads the pipe
    any more, all output goes to the file alone: the study goes on."""

    def __init__(self, screen: Screen, path: Path) -> None:
        self.screen, self.path = screen, path
        self.gone = False

    def say(self, text: str) -> None:
        text = shown(text)
        with contextlib.suppress(OSError), self.path.open("a", encoding="utf-8") as stream:
            stream.write(f"{datetime.datetime.now():%Y-%m-%d %H:%M:%S}  {text}\n")
        self._show(self.screen.say, text)

    def status(self, text: str) -> None:
        self._show(self.screen.status, shown(text))

    def _show(self, show: Callable[[str], None], text: str) -> None:
        if self.gone:
            return
        try:
            show(text)
        except OSError:
            self.gone = True
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            for stream in (sys.stdout, sys.stderr):
                os.dup2(file, stream.fileno())
            os.close(file)

    def __enter__(self) -> Self:
        self.screen.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self.screen.__exit__(kind, value, trace)  # what it still shows may be lost with the terminal


class Live:
    """Lines above a status line that rich keeps at the bottom."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.status import Status

        self.console = Console(highlight=False)
        self.line = Status("starting", console=self.console)

    def say(self, text: str) -> None:
        from rich.text import Text

        self.console.print(Text(text), soft_wrap=True)

    def status(self, text: str) -> None:
        from rich.text import Text

        self.line.update(Text(text))

    def __enter__(self) -> Self:
        self.line.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.line.stop()


def best_words(label: str, ratio: float, *, drawn: bool) -> str:
    """The leading setting and its factor over the baseline. ``drawn``: few launches are drawn towards the
    mean, so that it is not the factor of the table at the end; else nothing tells how far they differ."""
    if ratio != 1.0:
        how = "less what luck may add" if drawn else "luck may be part of it"
        return f"best {label} {percent(ratio)} so far ({how})"
    return f"best {label}" if label == "as it stands" else f"best {label} (the baseline)"


class Progress:
    """Turns the events of a study into words."""

    def __init__(
        self, opened: Opened, screen: Screen, history: Callable[[], History], check: int = 0
    ) -> None:
        """``check``: launches of the machine check that is run instead of the study."""
        self.opened, self.screen, self.history, self.check = opened, screen, history, check
        self.now = ""
        self.waiting = False
        self.rewritten: set[tuple[str, str]] = set()
        self.begun = time.monotonic()

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None:
        """Hear one event."""
        if kind == "note":
            self.screen.say(f"note: {data['text']}")
        elif kind == "orphan":
            self.screen.say(f"launch {data['n']} ({data['label']}) was left behind: {data['note']}")
        elif kind == "rejected":
            self.screen.say(f"not launched: {data['label']}: {data['findings'][0]}")
        elif kind == "finalists":
            self.screen.say(f"into the rounds: {'; '.join(data['labels'])}")
        elif kind == "launch":
            self._launch(data["step"])
        elif kind == "progress":
            self._phase(data["kind"], data["data"])
        elif kind == "ended":
            self._ended(data["step"], data["launch"])

    def _launch(self, step: Wanted) -> None:
        counted = f"launch {self._done() + 1} of {self._total()}"
        counted = "a launch to fill caches" if step.cold else counted
        self.now = f"{counted}: {step.arm.label}"
        self.begun = time.monotonic()
        self.waiting = False
        self._show("starting the server")

    def _total(self) -> int:
        history = self.history()
        return self.check or len(history.launches) + make_plan(self.opened, history).launches

    def _done(self) -> int:
        history = self.history()
        return len(good_checks(history)) if self.check else len(history.launches)

    def _left(self) -> str:
        plan = make_plan(self.opened, self.history())
        seconds = max(self.check - self._done(), 0) * plan.launch_s if self.check else plan.seconds
        return f"{duration(seconds)} left"

    def _phase(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "waiting":
            self._waiting(data["words"], data["limit_s"])
        elif kind == "ready":
            self._show("warming up")
        elif kind == "warmup":
            self._show(f"warming up at concurrency {data['concurrency']}: {data['tokens_per_s']:.1f} tok/s")
        elif kind == "block":
            block = data["block"]
            self._show(
                f"block {block.index + 1} of {self.opened.plan.blocks} at concurrency {block.concurrency}: "
                f"{block.tokens_per_s:.1f} tok/s"
            )
        elif kind == "check":
            self._show("compared greedy output")
        elif kind == "stopping":
            self._show("stopping the server")

    def _waiting(self, words: Sequence[str], limit_s: float) -> None:
        """Who uses the GPUs; said once per launch."""
        text = f"waiting up to {duration(limit_s)} for GPUs in use: {'; '.join(words)}"
        if not self.waiting:
            self.waiting = True
            self.screen.say(f"note: {text}")
        self._show(text)

    def _show(self, what: str) -> None:
        self.screen.status(f"{self.now}: {what}{self._best()}, {self._left()}")

    def _best(self) -> str:
        if self.check:
            return ""
        history = self.history()
        found = best_so_far(self.opened.design, history)
        return f"; {best_words(*found, drawn=luck_taken_off(history))}" if found is not None else ""

    def _rewritten(self, launch: Launch) -> list[str]:
        """What the server made of the setting, once for each setting."""
        if launch.ran != launch.arm:
            return ["rewritten by the server"]
        new = [rewrite_words(pair) for pair in pairs_of(launch)]
        new = [words for words in new if (launch.arm, words) not in self.rewritten]
        self.rewritten.update((launch.arm, words) for words in new)
        return [f"the server rewrites {words}" for words in new]

    def _ended(self, step: Wanted, launch: Launch) -> None:
        where = f"round {step.round + 1}" if step.phase == ROUND else PHASES[step.phase]
        where = "fills caches:" if step.cold and launch.ok else where
        head = f"[{self._done():>3}/{self._total()}] {step.arm.label:<16} {where:<8}"
        if not launch.ok:
            self.screen.say(f"{head} failed ({launch.failure}): {launch.message}")
            for text in launch.lines[-3:]:
                self.screen.say(f"          {text}")
            return
        words = [f"{math.exp(value):.1f} tok/s at {level}" for level, value in launch.scores.items()]
        tokens = sum(row[0] for row in launch.counters.values())
        steps = sum(row[1] for row in launch.counters.values())
        if steps:
            simulated = "simulated " if self.opened.design.step_cost is not None else ""
            words.append(f"accept {simulated}{tokens / steps:.2f}")
        words += self._rewritten(launch)
        words += [f"warm-up never settled at {level}" for level in launch.unsettled]
        words += [f"far behind at {level}, the rest left out" for level in launch.curtailed]
        words += [f"over the limit: {limit}" for limit in launch.limits]
        words.append(f"{launch.seconds:.1f} s" + (", not counted" if step.cold else ""))
        self.screen.say(f"{head} {', '.join(words)}{self._best()}; {self._left()}")
