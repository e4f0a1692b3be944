"""Conditions on settings, as ``refusals.json`` writes them: a closed grammar with three values.

A term is ``[name, operator]`` or ``[name, operator, operand]``; ``{"any": [terms, ...]}`` holds where all
terms of one alternative hold. An operand is a value, a list of values, or ``{"flag": name}``, the value of
another setting. What is not known makes a term not known, not false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Term = Any
"""A list or an ``any`` mapping, as read from JSON; a test reads every one of them."""

Read = Callable[[str], Any]
"""The value that runs for a name: None where it is off or not given, UNKNOWN where nobody can tell."""


class Unknown:
    """What only the machine, the launch or a missing file could tell."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()

OPERATORS = frozenset(
    {
        "on", "off", "set", "unset", "is", "not", "in", "not in", "not in or unset", "<", "<=", ">", ">=",
        "no multiple of", "has", "begins", "not begins", "longer than", "first not in",
    }
)  # fmt: skip


def holds(terms: Sequence[Term], read: Read) -> bool | None:
    """Whether all of ``terms`` hold; None where what is not known could decide it."""
    found = [_holds(term, read) for term in terms]
    return False if False in found else None if None in found else True


def _holds(term: Term, read: Read) -> bool | None:
    if isinstance(term, dict):
        found = [holds(each, read) for each in term["any"]]
        return True if True in found else None if None in found else False
    value = read(term[0])
    operand = resolved(term[2], read) if len(term) > 2 else None
    if value is UNKNOWN or operand is UNKNOWN:
        return None
    return _compare(value, term[1], operand)


def resolved(operand: Any, read: Read) -> Any:
    """``operand`` with the values of the settings that it names; UNKNOWN where one of them is not known."""
    if isinstance(operand, dict):
        value = read(operand["flag"])
        return UNKNOWN if value is None else value
    if isinstance(operand, list):
        found = [resolved(one, read) for one in operand]
        return UNKNOWN if UNKNOWN in found else found
    return operand


def _compare(value: Any, operator: str, operand: Any) -> bool | None:
    if operator in ("on", "off"):
        return bool(value) is (operator == "on")
    if operator in ("set", "unset"):
        return (value is not None) is (operator == "set")
    if value is None:
        return operator == "not in or unset"
    match operator:
        case "is" | "not":
            return same(value, operand) is (operator == "is")
        case "in" | "not in" | "not in or unset":
            return any(same(value, one) for one in operand) is (operator == "in")
        case "has":
            return (
                any(same(one, operand) for one in value) if isinstance(value, list) else operand in str(value)
            )
        case "begins" | "not begins":
            return str(value).startswith(tuple(operand)) is (operator == "begins")
        case "longer than":
            most = _number(operand)
            return None if most is None else _length(value) > most
        case "first not in":
            words = value if isinstance(value, list) else [value]
            return bool(words) and str(words[0]) not in operand
    return _ordered(value, operator, operand)


def _ordered(value: Any, operator: str, operand: Any) -> bool | None:
    left, right = _number(value), _number(operand)
    if left is None or right is None:
        return None
    match operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "no multiple of":
            return None if right == 0 else left % right != 0
    raise ValueError(f"no such operator: {operator}")


def same(one: Any, other: Any) -> bool:
    """Whether both are one value to a command line: numbers by value, anything else by its text."""
    left, right = _number(one), _number(other)
    return left == right if left is not None and right is not None else str(one) == str(other)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _length(value: Any) -> int:
    """How many words of a command line ``value`` is."""
    return len(value) if isinstance(value, list | dict) else 1


def plain(terms: Sequence[Term]) -> Iterator[Sequence[Any]]:
    """Every ``[name, operator, ...]`` of ``terms``, alternatives included."""
    for term in terms:
        if isinstance(term, dict):
            for each in term["any"]:
                yield from plain(each)
        else:
            yield term


def names(terms: Sequence[Term]) -> Iterator[str]:
    """Every name that ``terms`` read, those of operands included."""
    for term in plain(terms):
        yield term[0]
        for operand in term[2] if len(term) > 2 and isinstance(term[2], list) else term[2:]:
            if isinstance(operand, dict):
                yield operand["flag"]
