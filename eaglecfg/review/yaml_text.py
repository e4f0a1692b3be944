"""Values as YAML that every reader takes for the same: text that could be anything else is in quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(
    r"(?:--?)?[A-Za-z_/](?:[A-Za-z0-9_./+@:-]*[A-Za-z0-9_/+])?|\./[A-Za-z0-9_/][A-Za-z0-9_./-]*"
)
_WORDS = frozenset(
    {
        "y",
        "n",
        "yes",
        "no",
        "on",
        "off",
        "true",
        "false",
        "null",
        "nan",
        "inf",
        "infinity",
        "none",
        "undefined",
    }
)
"""Words that some reader of YAML takes for something other than text."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def scalar(text: str) -> str:
    """``text`` as a scalar of one line: plain where nobody can take it for anything else, else in double
    quotes with escapes."""
    if _PLAIN.fullmatch(text) and text.lstrip("-").lower() not in _WORDS and len(text) < 200:
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """``text`` in quotes: double ones, or single ones where these need no escapes and double ones do."""
    if ('"' in text or "\\" in text) and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(_ESCAPES.get(letter) or _letter(letter) for letter in text) + '"'


def _letter(letter: str) -> str:
    # What cannot be seen, turns the text around or ends a line to some reader is written as its number.
    if letter == " " or letter.isprintable():
        return letter
    code = ord(letter)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def flow(value: Any) -> str:
    """Plain data on one line: text, numbers, true, false, null, lists and mappings with text as keys."""
    if isinstance(value, str):
        return scalar(value) if ":" not in value else quoted(value)  # older parsers end plain text at a colon
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def _number(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    return repr(value)
