"""Percentiles with linear interpolation, without numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The percentile of ``values``; 0.0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summary_ms(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds of times in seconds."""
    return {f"p{percent}": round(percentile(seconds, percent) * 1000, 4) for percent in (50, 95, 99)}
