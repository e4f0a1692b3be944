"""When a study has to stop: its budget in launches, in hours, and by the clock."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable
from statistics import fmean

from eaglecfg.errors import UsageError
from eaglecfg.schema.study import Budget
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import ROUND, History
from eaglecfg.tune.ranking import finalists
from eaglecfg.tune.schedule import Wanted, may_be_cut, open_cells

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

    def __init__(
        self, budget: Budget, now: float, assumed_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``now`` is the time of day, ``assumed_s`` what a launch takes until launches have been seen. Hours
        are counted by ``clock``: the time of day may be set anew in the night."""
        self.budget, self.assumed_s, self._clock = budget, assumed_s, clock
        self.end = until_time(budget.until, now) if budget.until is not None else None
        self._begun = clock()
        self._busy_before: float | None = None

    def left_s(self, history: History, now: float) -> float | None:
        """Seconds left; None without a limit in time. Hours count launches, not pauses between two runs."""
        left: list[float] = []
        if self.budget.hours is not None:
            if self._busy_before is None:
                self._busy_before = history.busy_s
            left.append(self.budget.hours * 3600 - self._busy_before - (self._clock() - self._begun))
        if self.end is not None:
            left.append(self.end - now)
        return min(left) if left else None

    def search_over(self, design: Design, history: History, now: float) -> bool:
        """Whether one launch more would take the time that is kept for the rounds. What launches are assumed
        to take, or one took that found caches cold, is no reason to end a search."""
        left = self.left_s(history, now)
        if left is None or design.mode == "rounds" or not history.warm:
            return False
        launches = left / launch_seconds(history, self.assumed_s)
        kept = rounds_kept(design, len(history.paid()) + launches)
        return launches < kept * design.final_arms + 1

    def stop(
        self, design: Design, history: History, now: float, step: Wanted | None = None, before_s: float = 0.0
    ) -> str:
        """Why the study ends before ``step``, the next launch, or nothing. A round does not begin that there
        is no time to finish. ``before_s`` is what a launch that fills caches takes before ``step``."""
        left, each = self.left_s(history, now), launch_seconds(history, self.assumed_s)
        left = None if left is None else left - before_s
        if left is not None and left < each:
            return "the time budget is spent"
        if left is not None and step is not None and left < each * _begins(design, history, step):
            return "the time budget is spent: what is left of it is too short for a whole round"
        # What the machine spoilt, and what is launched again to be sure, does not count.
        if design.launches is not None and len(history.paid()) >= design.launches:
            return f"the budget of {design.launches} launches is spent"
        return ""


def _begins(design: Design, history: History, step: Wanted) -> int:
    """How many launches the round has that ``step`` begins; 0 where it begins none, or one that may be cut
    off."""
    begun = any(item.phase == ROUND and item.round == step.round for item in history.settled())
    if step.phase != ROUND or begun or may_be_cut(design, step.round):
        return 0
    return len(open_cells(design, history, finalists(design, history), step.round))


def rounds_kept(design: Design, launches: float) -> int:
    """Rounds that time is kept for, where there is time for ``launches`` altogether: those of the profile,
    but no more than half of the time, and two at least."""
    half = int(launches / 2 / design.final_arms) if design.final_arms else 0
    return min(design.kept_rounds, max(half, 2))


def launch_seconds(history: History, assumed_s: float) -> float:
    """Seconds that a launch takes: the mean of those seen; at most halfway to what is assumed where only the
    first of a boot was seen, which found caches cold; before that what is assumed."""
    seen = fmean(item.seconds for item in history.warm or history.timed) if history.timed else assumed_s
    return seen if history.warm else min(seen, (seen + assumed_s) / 2)
