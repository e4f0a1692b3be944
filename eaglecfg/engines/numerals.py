"""Whole numbers and switches as the engine reads them."""

from __future__ import annotations

from typing import Any

MOST_DIGITS = 18
"""Longer numbers are lengths of nothing, and fit no 64-bit field of the engine."""

MOST_TEXT = 64
"""Characters of a number with whatever stands around it and between its digits."""

_SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

_ON, _OFF = ("true", "1", "yes", "y"), ("false", "0", "no", "n")


def engine_switch(text: str) -> bool | None:
    """What the engine reads a switch of its own as, None where it warns and takes its default
    (srt/environ.py, EnvBool)."""
    plain = text.lower()
    return plain in _ON if plain in _ON or plain in _OFF else None


def whole(value: Any) -> int | None:
    """``value`` as a whole number: what Python's int takes (``30_000``, ``+4``), and suffixes as the engine
    reads them (``128k``, ``64Ki``).

    None for anything else, and for text of more than MOST_DIGITS digits.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        return None
    digits = value.rstrip("kKMGTi")
    scale = _SUFFIXES.get(value[len(digits) :])
    number = digits if scale == 1 else digits.removeprefix("-")
    if scale is None or (scale != 1 and not number.isdecimal()):
        return None
    try:
        found = int(number)
    except ValueError:
        return None
    if abs(found) >= 10**MOST_DIGITS:
        return None
    return -found * scale if number is not digits else found * scale
