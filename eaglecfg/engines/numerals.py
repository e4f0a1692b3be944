"""Whole numbers as the engine reads them."""

from __future__ import annotations

from typing import Any

MOST_DIGITS = 18
"""Longer numbers are lengths of nothing, and fit no 64-bit field of the engine."""

_SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def whole(value: Any) -> int | None:
    """``value`` as a whole number, with suffixes as the engine reads them (``128k``, ``64Ki``).

    None for anything else, and for text of more than MOST_DIGITS digits.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return None
    sign = -1 if value.startswith("-") else 1
    digits = value.removeprefix("-").rstrip("kKMGTi")
    scale = _SUFFIXES.get(value.removeprefix("-")[len(digits) :])
    if scale is None or not digits.isdecimal() or len(digits) > MOST_DIGITS:
        return None
    return sign * int(digits) * scale
