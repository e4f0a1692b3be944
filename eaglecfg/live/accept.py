"""Accept length over requests, and its interval."""

from __future__ import annotations

import random
from collections.abc import Sequence

FEWEST = 5
"""Requests below which no interval is given: resampling three values says nothing."""

RESAMPLES = 2_000
SHARE = 0.95

Counted = tuple[float, int]
"""Correct drafts and verify steps of one request."""


def accept_length(requests: Sequence[Counted]) -> float | None:
    """Σ(1 + correct drafts) ÷ Σ verify steps; None where nothing was verified."""
    steps = sum(verify for _, verify in requests)
    return 1.0 + sum(correct for correct, _ in requests) / steps if steps else None


def interval(requests: Sequence[Counted], seed: int = 0) -> tuple[float, float] | None:
    """The 95 % interval of the accept length: percentiles of a bootstrap over requests.

    Requests, not steps, are drawn: steps of one answer are alike. None for fewer than FEWEST.
    """
    if len(requests) < FEWEST or not all(verify > 0 for _, verify in requests):
        return None
    chooser = random.Random(seed)
    count = len(requests)
    found = []
    for _ in range(RESAMPLES):
        drawn = chooser.choices(requests, k=count)
        found.append(1.0 + sum(correct for correct, _ in drawn) / sum(verify for _, verify in drawn))
    found.sort()
    tail = (1 - SHARE) / 2
    return found[int(tail * RESAMPLES)], found[int((1 - tail) * RESAMPLES) - 1]
