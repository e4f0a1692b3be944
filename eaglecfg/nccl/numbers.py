"""How NCCL reads numbers: C's strtoll with base 0, which stops at the first character it cannot use."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)?")
_PLAIN = re.compile(r"-?(0[xX][0-9a-fA-F]+|[1-9][0-9]*|0)")
_OCTAL = re.compile(r"-?0[0-9]+")
_MOST, _LEAST = 2**63 - 1, -(2**63)


@dataclass(frozen=True, slots=True)
class Number:
    """``value`` as strtoll returns it; ``overflow`` where it does not fit; ``plain`` where the whole text is
    a number that reads the same everywhere (decimal or hexadecimal, no leading zero)."""

    value: int
    overflow: bool
    plain: bool
    octal: bool


def read_number(text: str) -> Number:
    """What ``strtoll(text, NULL, 0)`` makes of ``text``: ``true`` -> 0, ``4M`` -> 4, ``010`` -> 8, ``0x10``
    -> 16."""
    match = _NUMBER.match(text)
    sign, digits = match.groups() if match else ("", None)
    value = 0
    if digits:
        base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
        # Beyond this length it overflows anyway, and int() takes quadratic time on very long texts.
        value = int(digits, base) if len(digits) <= 70 else _MOST + 1
    value = -value if sign == "-" else value
    overflow = not _LEAST <= value <= _MOST
    return Number(
        max(_LEAST, min(_MOST, value)),
        overflow,
        _PLAIN.fullmatch(text) is not None,
        _OCTAL.fullmatch(text) is not None,
    )
