"""Where the time of a study went: its launches one by one, and the shares of start-up, measurement, rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from eaglecfg.tune.history import ROUND, History, Launch

PARTS = ("startup", "warmup", "measure", "stop")
NAMES = dict(zip((*PARTS, "other"), ("start-up", "warm-up", "measurement", "stop", "rest"), strict=True))

COLD = 2.0
"""A start-up of more than so many medians compiled or read what the others found ready: seen 185 s where
others took 50 (`studies/results/tiny-tp2-steps.md`), and 86 against 50 where nothing had to be compiled."""
LEAST_S = 10.0
"""Nor is it told of fewer seconds than these."""
FEWEST_STARTS = 4
"""Fewer launches have no usual start-up."""
WORTH_A_WORD = 1.0
"""Seconds of waiting; looking whether a GPU is empty takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class Account:
    """``seconds`` in finished launches, failed ones included; ``shares`` of them by part, ``other`` is
    the rest. Not among them: ``waited``, seconds before launches until their GPUs were free, and ``cut_off``
    launches, which ended with the coordinator or by its interruption. ``cold`` are the seconds of start-up of
    launches that took more than COLD times the median, ``usual_start_s``, by their number. ``filling``
    launches filled caches: counted here, compared nowhere."""

    launches: int
    failed: int
    seconds: float
    shares: Mapping[str, float]
    waited: float = 0.0
    cut_off: int = 0
    cold: Mapping[int, float] = field(default_factory=dict)
    usual_start_s: float = 0.0
    filling: int = 0

    @property
    def per_hour(self) -> float:
        """Launches per hour of work."""
        return self.launches / self.seconds * 3600 if self.seconds else 0.0


def account_of(history: History) -> Account:
    """Add up a history."""
    seconds, launched = history.busy_s, _launched(history)
    sums = {part: sum(item.timings.get(part, 0.0) for item in launched) for part in PARTS}
    sums["other"] = max(0.0, seconds - sum(sums.values()))
    starts = {item.n: item.timings.get("startup", item.startup_s) for item in history.launches if item.ok}
    usual = median(starts.values()) if len(starts) >= FEWEST_STARTS else 0.0
    return Account(
        len(launched),
        sum(not item.ok for item in launched),
        seconds,
        {part: spent / seconds if seconds else 0.0 for part, spent in sums.items()},
        sum(item.timings.get("waited", 0.0) for item in launched),
        history.cut_off,
        {
            number: spent
            for number, spent in starts.items()
            if usual and spent > max(COLD * usual, usual + LEAST_S)
        },
        usual,
        len(history.filling),
    )


def launches(count: int) -> str:
    """``1 launch``, ``3 launches``."""
    return "1 launch" if count == 1 else f"{count} launches"


def account_line(account: Account) -> str:
    """One sentence, and one on what came on top where something did."""
    shares = ", ".join(f"{NAMES[part]} {share:.0%}" for part, share in account.shares.items())
    failed = f", {account.failed} of them failed" if account.failed else ""
    filling = f", {account.filling} of them to fill caches and not compared" if account.filling else ""
    line = (
        f"{launches(account.launches)}{failed}{filling}, {account.seconds / 60:.1f} minutes, "
        f"{account.per_hour:.0f} an hour: {shares}."
    )
    more = [f"{launches(account.cut_off)} cut off"] if account.cut_off else []
    if account.waited >= WORTH_A_WORD:
        more.append(f"{account.waited:.0f} s of waiting for GPUs in use")
    return f"{line} On top: {' and '.join(more)}." if more else line


def cold_words(account: Account) -> list[str]:
    """That launches found caches cold, which may have made what they measured slower too."""
    if not account.cold:
        return []
    each = ", ".join(f"launch {number} {spent:.0f} s" for number, spent in account.cold.items())
    return [
        f"Start-up took {account.usual_start_s:.0f} s (median), but {each}: with cold caches a launch may be "
        f"slower in what it measures, too."
    ]


HEADER = ("launch", "setting", "phase", "tok/s", "accept", "ms/step", "start-up s", "stop s", "whole s")


def launch_rows(history: History) -> list[list[str]]:
    """A row per finished launch, in the order of the record."""
    return [
        [
            str(item.n),
            str(history.arms[item.ran]["label"]),
            _phase(item, history),
            *_numbers(item),
            f"{item.timings.get('startup', item.startup_s):.1f}",
            f"{item.timings.get('stop', 0.0):.1f}",
            f"{item.seconds:.1f}",
        ]
        for item in _launched(history)
    ]


def _phase(item: Launch, history: History) -> str:
    if item in history.colds:
        return "fills caches"
    return f"round {item.round + 1}" if item.phase == ROUND else item.phase


def _launched(history: History) -> list[Launch]:
    """The launches of the study in their order, those among them that filled caches."""
    return sorted((*history.filling, *history.launches), key=lambda item: item.n)


def _numbers(item: Launch) -> list[str]:
    """Speed, accept length and step time; the failure instead where there is one."""
    if not item.ok:
        return [f"failed: {item.failure}", "", ""]
    many = len(item.scores) > 1
    speeds = [
        f"{math.exp(score):.1f}" + (f" at {level}" if many else "") for level, score in item.scores.items()
    ]
    if item.drifted:
        speeds.append("set aside: the machine's speed moved")
    accept = _ratio(item.counters.values(), 0, 1)
    steps = [ratio for row in item.counters.values() if (ratio := _ratio([row], 2, 3)) is not None]
    return [
        ", ".join(speeds),
        "-" if accept is None else f"{accept:.2f}",
        ", ".join(f"{step:.2f}" for step in steps) or "-",
    ]


def _ratio(rows: Iterable[Sequence[float]], top: int, bottom: int) -> float | None:
    rows = list(rows)
    below = sum(row[bottom] for row in rows)
    return sum(row[top] for row in rows) / below if below else None
