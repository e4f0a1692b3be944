"""JSON read strictly: what parsers disagree on is said, never chosen in silence."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, NoReturn

from eaglecfg.checkpoint.limits import MAX_DEPTH, MAX_REPEATED


class JsonFault(ValueError):
    """The text is not JSON, or not JSON that every reader takes alike. ``place`` says where, if known."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place


class Repeated(NamedTuple):
    """A key that stands twice in one object, with its first and last value. The last one counts."""

    key: str
    first: Any
    last: Any


def parse_object(data: bytes) -> tuple[dict[str, Any], tuple[Repeated, ...], str]:
    """The JSON object in ``data``, its repeated keys, and the decoded text.

    Raises JsonFault for what is not UTF-8, not JSON, not an object, nested deeper than MAX_DEPTH, or holds
    NaN, Infinity, an overflowing number or half of a surrogate pair.
    """
    text = decode(data)
    repeated: list[Repeated] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            first: dict[str, Any] = {}
            for key, value in pairs:
                if key in first and len(repeated) < MAX_REPEATED:
                    repeated.append(Repeated(key, first[key], value))
                first.setdefault(key, value)
        return out

    value = loads(text, object_pairs_hook=build, parse_constant=_constant, parse_float=_number)
    if not isinstance(value, dict):
        raise JsonFault(f"holds {kind_of(value)}, not an object", "line 1, column 1")
    _bound_depth(value)
    if "\\" in text:
        refuse_half_characters(text)
    return value, tuple(repeated), text


def decode(data: bytes) -> str:
    """UTF-8 without a byte-order mark. Raises JsonFault with the byte that is not."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise JsonFault("begins with a byte-order mark, which JSON readers refuse", "byte 0")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonFault(f"is not UTF-8 at byte {error.start:,}", f"byte {error.start:,}") from None


def loads(text: str, **hooks: Any) -> Any:
    """``json.loads`` with every way it fails turned into a JsonFault."""
    try:
        return json.loads(text, **hooks)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise JsonFault(f"is not JSON at {place} ({error.msg.lower()})", place) from None
    except RecursionError:
        raise JsonFault("is nested too deeply") from None
    except JsonFault:
        raise
    except ValueError:  # int() refuses more than 4,300 digits
        raise JsonFault("holds a number with thousands of digits") from None


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value"}
    return names.get(type(value), "a number")


def refuse_half_characters(text: str) -> None:
    """Raise JsonFault where an escape is half of a surrogate pair: such text cannot be written anywhere."""
    import re  # only for files that have escapes at all

    low = text.lower()
    if "\\ud" not in low:
        return
    escapes = re.compile(r"\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}")
    for match in escapes.finditer(low):
        if len(match[0]) == 6:
            raise JsonFault(f"holds {match[0]}, half of a character", f"character {match.start():,}")


def _constant(name: str) -> NoReturn:
    raise JsonFault(f"holds {name}, which is not JSON")


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise JsonFault(f"holds {text[:20]}, which is too large for a number")
    return value


def _bound_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise JsonFault(f"is nested more than {MAX_DEPTH} levels deep")
        below: list[Any] = []
        for item in level:
            below.extend(item.values() if isinstance(item, dict) else item)
        level = [item for item in below if isinstance(item, dict | list)]
