"""Whole-number arithmetic of a shell, as far as it is plain: ``+ - * / %`` and brackets."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(0|[1-9][0-9]{0,9})(?![0-9A-Za-z_#])|\$?([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_]\w*)\}|([-+*/%()]))"
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,9})", re.ASCII)
LONGEST = 200
LARGEST = 2**62


def calculated(text: str, value_of: Callable[[str], str | None]) -> int | None:
    """What the expression comes to; None where it holds anything else, or a variable without a number.

    ``value_of`` gives a variable's text, None where it is not known.
    """
    words: list[str] = []
    at = 0
    text = text.strip()
    if len(text) > LONGEST:
        return None
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        at = found.end()
        name = found[2] or found[3]
        word = value_of(name) if name else found[1] or found[4]
        if word is None or (name and not _NUMBER.fullmatch(word)):
            return None
        words.append(word)
    try:
        result, end = _sum(words, 0)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return result if end == len(words) and abs(result) < LARGEST else None


def _sum(words: list[str], at: int) -> tuple[int, int]:
    left, at = _product(words, at)
    while at < len(words) and words[at] in ("+", "-"):
        right, end = _product(words, at + 1)
        left, at = (left + right if words[at] == "+" else left - right), end
    return left, at


def _product(words: list[str], at: int) -> tuple[int, int]:
    left, at = _one(words, at)
    while at < len(words) and words[at] in ("*", "/", "%"):
        right, end = _one(words, at + 1)
        if words[at] == "*":
            left *= right
        else:
            whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # towards zero
            left = whole if words[at] == "/" else left - whole * right
        if abs(left) > LARGEST:
            raise ValueError
        at = end
    return left, at


def _one(words: list[str], at: int) -> tuple[int, int]:
    word = words[at]
    if word in ("+", "-"):
        value, end = _one(words, at + 1)
        return (-value if word == "-" else value), end
    if word == "(":
        value, end = _sum(words, at + 1)
        if words[end] != ")":
            raise ValueError
        return value, end + 1
    return int(word), at + 1
