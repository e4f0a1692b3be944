"""Plain scalars to values by YAML 1.2's core schema: ``yes`` and ``12:30`` are text, ``1e-5`` a number."""

from __future__ import annotations

import re

from eaglecfg.source.limits import MAX_DIGITS

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
# A scalar that begins otherwise is text: the common case is decided by one look at the first character.
_FIRST = frozenset("0123456789+-.~nNtTfF")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_OCTAL_LOOK = re.compile(r"[-+]?0(?:[0-9_]+|o[0-7_]+)")


class ScalarRefused(ValueError):
    """A plain scalar that readers of YAML take for different numbers, or that no reader can take."""

    def __init__(self, kind: str, message: str, help: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.help = help


def plain_value(text: str) -> Scalar:
    """The value of an unquoted scalar. Raises ScalarRefused for ``010``, ``0o10`` and endless numbers."""
    if not text:
        return None
    if text[0] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return _integer(text, 10)
    if _OCTAL_LOOK.fullmatch(text):
        raise _octal_look(text)
    if _HEXADECIMAL.fullmatch(text):
        return _integer(text, 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _integer(text: str, base: int) -> int:
    if len(text) > MAX_DIGITS:
        raise ScalarRefused(
            "number-too-long",
            f"a number of at most {MAX_DIGITS:,} digits is expected, this one has {len(text):,}",
            "write the number that you mean, or put the text in quotes",
        )
    return int(text, base)


def _octal_look(text: str) -> ScalarRefused:
    sign = text[0] if text[0] in "+-" else ""
    digits = text.lstrip("+-").replace("_", "").removeprefix("0o").removeprefix("0O")
    shown = text if len(text) <= 24 else f"{text[:20]}..."
    if len(digits) > 24:
        help = "write it without the leading zero"
        return ScalarRefused("ambiguous-number", f"{shown} has a leading zero", help)
    decimal = str(int(digits))
    octal = str(int(digits, 8)) if set(digits) <= set("01234567") else ""
    numbers = [number for number in dict.fromkeys((octal, decimal)) if number]
    readings = " and others as ".join(sign + number for number in numbers)
    message = f"some readers of YAML take {shown} as {readings}"
    if len(numbers) == 1:
        message = f"some readers of YAML take {shown} as {readings}, others as text"
    choices = " or ".join(sign + number for number in numbers)
    return ScalarRefused("ambiguous-number", message, f'write {choices}, or "{shown}" if text is meant')
