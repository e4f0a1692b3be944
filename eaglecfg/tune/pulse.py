"""Progress of a launch as the load generator sees it, and when its absence means a hang."""

from __future__ import annotations

import statistics
import time
from collections import deque

REMEMBERED = 400
"""Recent times between arrivals that the median step is taken from."""
SLOW_FIRST_TOKEN = 3.0
"""While every request in flight waits for its first token, silence may last this many of the longest such
waits."""


class Pulse:
    """Knows when the last token came. ``floor_s``, ``steps``: the hang rule of ``trial.Limits``.

    ``warming`` is true while a concurrency is new to the server: its first batch may compile kernels and
    capture graphs, so silence is then bounded by ``warming_s`` alone.
    """

    def __init__(self, floor_s: float, steps: float, warming_s: float) -> None:
        self._floor_s = floor_s
        self._steps = steps
        self._warming_s = warming_s
        self._gaps: deque[float] = deque(maxlen=REMEMBERED)
        self._longest_wait = 0.0
        self._last = time.monotonic()
        self._waiting = 0
        self._in_flight = 0
        self.warming = True

    def sent(self) -> None:
        """A request was sent."""
        if self._in_flight == 0:
            self._last = time.monotonic()
        self._in_flight += 1
        self._waiting += 1

    def token(self, gap: float | None, wait: float | None) -> None:
        """Tokens came: ``gap`` seconds after the request's last ones, or ``wait`` after it was sent."""
        self._last = time.monotonic()
        if gap is not None:
            self._gaps.append(gap)
        if wait is not None:
            self._waiting -= 1
            self._longest_wait = max(self._longest_wait, wait)

    def ended(self, *, answered: bool) -> None:
        """A request ended, with or without a token."""
        self._last = time.monotonic()
        self._in_flight -= 1
        if not answered:
            self._waiting -= 1

    @property
    def allowed_s(self) -> float:
        """Seconds of silence that are still no hang."""
        step = statistics.median(self._gaps) if self._gaps else 0.0
        allowed = max(self._floor_s, self._steps * step)
        if self._waiting and self._waiting == self._in_flight:
            allowed = max(allowed, SLOW_FIRST_TOKEN * self._longest_wait)
        return max(allowed, self._warming_s) if self.warming else allowed

    @property
    def silence_s(self) -> float:
        """Seconds without a token while something was in flight."""
        return time.monotonic() - self._last if self._in_flight else 0.0

    @property
    def hangs(self) -> bool:
        """Whether the silence is too long."""
        return self.silence_s > self.allowed_s
