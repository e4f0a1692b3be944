"""Ranges of a search space: what counts as a number, and how many values a range stands for."""

from __future__ import annotations

import math
from typing import Any

RANGE_KEYS = frozenset(("low", "high", "step", "log"))
"""Keys of a range with both bounds in it; ``step`` is a distance, with ``log`` a factor, 2 unless given."""

STOPS = 17
"""Values that a range of real numbers without a step is cut into: finer than launch noise can tell apart."""

MOST_CHOICES = 1000
"""Choices of one key beyond which a range is surely missing its step."""

_LARGEST = 10**15
"""Larger numbers are settings of nothing, and floats cannot count in them."""


def is_number(value: Any) -> bool:
    """Whether ``value`` can bound a range: finite, no bool, and of a size that can be counted in."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def count_of(low: float, high: float, step: float | None, *, log: bool) -> int:
    """Values of a range whose bounds and step have been checked; with ``log`` the step is a factor.

    Counting ends at one more than MOST_CHOICES.
    """
    if log:
        factor = step or 2
        steps = math.log(high / low) / math.log(factor)
    elif step:
        steps = (high - low) / step
    else:
        steps = high - low if isinstance(low, int) and isinstance(high, int) else min(STOPS - 1, high - low)
    return int(min(steps + 1e-9, MOST_CHOICES)) + 1
