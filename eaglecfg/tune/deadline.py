"""When a study has to stop: its budget in launches, in hours, and by the clock."""

from __future__ import annotations

import datetime
import re

from eaglecfg.errors import UsageError
from eaglecfg.schema.study import Budget
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import History

CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def until_time(text: str, now: float) -> float:
    """The next time that a clock shows ``text`` (07:00), in seconds since the epoch. Raises UsageError."""
    found = CLOCK.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"budget.until: expected a time of day such as 07:00, got {text}.")
    start = datetime.datetime.fromtimestamp(now)
    end = start.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
    if end <= start:
        end += datetime.timedelta(days=1)
    return end.timestamp()


class Deadline:
    """Answers from the budget, asked before each launch."""

    def __init__(self, budget: Budget, now: float, assumed_s: float) -> None:
        """``assumed_s`` is what a launch takes until launches have been seen."""
        self.budget, self.assumed_s = budget, assumed_s
        self.end = until_time(budget.until, now) if budget.until is not None else None
        self._begun = now
        self._busy_before: float | None = None

    def left_s(self, history: History, now: float) -> float | None:
        """Seconds left; None without a limit in time. Hours count launches, not pauses between two runs."""
        left: list[float] = []
        if self.budget.hours is not None:
            if self._busy_before is None:
                self._busy_before = history.busy_s
            left.append(self.budget.hours * 3600 - self._busy_before - (now - self._begun))
        if self.end is not None:
            left.append(self.end - now)
        return min(left) if left else None

    def search_over(self, design: Design, history: History, now: float) -> bool:
        """Whether what is left is needed for the rounds."""
        left = self.left_s(history, now)
        if left is None or design.mode == "rounds":
            return False
        return left < launch_seconds(history, self.assumed_s) * design.final_arms * design.rounds

    def stop(self, design: Design, history: History, now: float) -> str:
        """Why the study ends before the next launch, or nothing."""
        left = self.left_s(history, now)
        if left is not None and left < launch_seconds(history, self.assumed_s):
            return "the time budget is spent"
        # What the machine spoilt, and what is launched again to be sure, does not count.
        if design.launches is not None and len(history.settled()) >= design.launches:
            return f"the budget of {design.launches} launches is spent"
        return ""


def launch_seconds(history: History, assumed_s: float) -> float:
    """Seconds that a launch takes: the mean of those seen, else what is assumed."""
    seen = [item.seconds for item in history.timed]
    return sum(seen) / len(seen) if seen else assumed_s
