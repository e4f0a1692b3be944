"""Whole numbers, switches and sizes."""

from __future__ import annotations

import re

from eaglecfg.nccl.facts import VariableFact
from eaglecfg.nccl.numbers import read_number
from eaglecfg.nccl.parsed import Parsed, Problem
from eaglecfg.nccl.version import at_least

_SUFFIXED = re.compile(r"([0-9]+)\s*([kmg])(i?b)?", re.IGNORECASE)
_REMARK = re.compile(r"\s+(#|//).*", re.DOTALL)
_SCALE = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_ON, _OFF = (
    {"true", "on", "yes", "enable", "enabled", "y", "t"},
    {"false", "off", "no", "disable", "disabled", "n", "f"},
)


def parse_integer(fact: VariableFact, text: str, version: str) -> Parsed:
    """A variable of kind ``int``: what strtoll reads, and what becomes of numbers that NCCL does not take."""
    number = read_number(text)
    expected = _expected(fact, version)
    if number.overflow:
        shown = f"its default ({fact.get('default', 'unknown')})"
        return Parsed(fact.name, text, None, shown, (Problem("overflow", shown, expected),))
    problems: list[Problem] = []
    if not number.plain:
        fixed = _meant(fact, text)
        code = "octal" if number.octal else "misread"
        if meaning(text, size=bool(fact.get("bytes"))) == number.value:
            code = "spelling"  # NCCL reads what is meant
        problems.append(Problem(code, f"NCCL reads {number.value}", expected, fixed=fixed))
    taken, problem = _judged(fact, number.value, version)
    if problem is not None and all(one.code == "spelling" for one in problems):
        problems.append(problem)
    return Parsed(fact.name, text, taken, str(taken) if taken is not None else "its default", tuple(problems))


def _expected(fact: VariableFact, version: str) -> str:
    values, bounds = fact.get("values"), fact.get("range")
    unit = " bytes without a suffix" if fact.get("bytes") else ""
    if values:
        return " or ".join((", ".join(map(str, values[:-1])), str(values[-1])))
    if bounds:
        low, high = bounds[0], bounds[1] and _limit(fact, version)
        text = f"a whole number from {low} to {high}" if high is not None else f"a whole number from {low}"
        return text + (f" that {fact.get('multiple')} divides" if fact.get("multiple") else "") + unit
    if fact.get("multiple"):
        return f"a multiple of {fact.get('multiple')}{unit}"
    return f"a whole number{unit}"


def meaning(text: str, *, size: bool = False) -> int | None:
    """The whole number that a person means by ``text``, None where there is none or more than one: 0 for
    ``off``, 512 for ``512 # fast``, 10 for ``010``; with ``size`` 4194304 for ``4M``."""
    plain = _REMARK.sub("", text).strip().lower()
    if plain in _ON | _OFF:
        return int(plain in _ON)
    sized = _SUFFIXED.fullmatch(plain)
    if sized and size and len(sized[1]) < 15:
        return int(sized[1]) * _SCALE[sized[2]]
    if re.fullmatch(r"0[0-9]{1,18}", plain):
        return int(plain)
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?(e[0-9]{1,2})?", plain):
        value = float(plain)
        return int(value) if value.is_integer() and value < 1e15 else None
    signed = read_number(plain.removeprefix("+"))
    return signed.value if signed.plain and not signed.overflow else None


def automatic(fact: VariableFact) -> str:
    """The number beside 0 and 1 with which NCCL looks for itself, empty where the variable has none."""
    default = str(fact.get("default", ""))
    return default if default not in ("0", "1") and default in map(str, fact.get("values") or ()) else ""


def _meant(fact: VariableFact, text: str) -> str | None:
    """The text that alone can be meant, None where there may be two."""
    plain = text.strip().lower()
    if plain in _ON | _OFF:
        switch = {0, 1} <= set(fact.get("values") or ())
        # "on" may be 1, which asks no more, or the number with which NCCL looks first.
        sure = switch and not (plain in _ON and automatic(fact))
        return str(meaning(plain)) if sure else None
    if read_number(plain.removeprefix("+")).plain:
        return plain.removeprefix("+")
    meant = meaning(text, size=bool(fact.get("bytes")))
    return None if meant is None else str(meant)


def _judged(fact: VariableFact, value: int, version: str) -> tuple[int | None, Problem | None]:
    """The number that NCCL works with for ``value``, and what is wrong with it."""
    values, bounds, multiple = fact.get("values"), fact.get("range"), fact.get("multiple")
    expected = _expected(fact, version)
    if value < fact.get("none_below", value):
        outcome = f"NCCL takes it as not set and uses its default ({fact.get('default')})"
        return None, Problem("range", outcome, expected)
    if values and value not in values:
        taken, outcome = _switch(fact, value)
        return taken, Problem("values", outcome, expected)
    if multiple and value % multiple and value > 0:
        instead = fact.get("off_multiple")
        outcome = "NCCL does not check it" if instead == "unchecked" else f"NCCL uses {instead}"
        taken = value if instead == "unchecked" else int(instead)
        return taken, Problem("multiple", outcome, f"a multiple of {multiple}")
    if bounds and not (bounds[0] <= value and (bounds[1] is None or value <= _limit(fact, version))):
        taken, outcome = _outside(fact, value, version)
        return taken, Problem("range", outcome, expected)
    if fact.get("power") and value & (value - 1):
        return value, Problem("power", "NCCL does not check it; odd sizes can hang", "a power of two")
    if fact.get("usual") and value not in fact.get("usual"):
        usual = ", ".join(map(str, fact.get("usual")))
        return value, Problem("unusual", f"NCCL documents only {usual}", f"one of {usual}")
    return value, None


def _switch(fact: VariableFact, value: int) -> tuple[int | None, str]:
    """(what NCCL works with, in words) for a number that the variable does not list."""
    outside, default = fact.get("outside"), fact.get("default", "the default")
    if outside == "exact":
        return 0, "only 1 counts, so NCCL ignores it"
    if outside in ("as_one", "nonzero"):
        words = "NCCL takes every other number as 1"
        return 1, words + (" and skips the device check" if outside == "as_one" else "")
    if outside == "ignored":
        return None, f"NCCL says in its log that it is not valid and keeps {default}"
    if outside == "default":
        return int(fact.get("outside_is")), f"NCCL warns and uses {fact.get('outside_is')}"
    return value, "NCCL does not check it"


def _outside(fact: VariableFact, value: int, version: str) -> tuple[int | None, str]:
    low = fact.get("range")[0]
    mode = fact.get("outside")
    later = fact.get("outside_later")
    if value < low and fact.get("low"):
        mode = fact.get("low")
    elif later and at_least(version, later[0]):
        mode = later[1]
    if mode == "clamped":
        bound = _limit(fact, version) if value > low else low
        return bound, f"NCCL uses {bound}"
    if mode == "ignored":
        return None, f"NCCL ignores it and keeps its default ({fact.get('default')})"
    if mode == "infinite":
        return value, "NCCL hands it on, and the card waits for ever instead of failing"
    return value, "NCCL does not check it"


def _limit(fact: VariableFact, version: str) -> int:
    high = int(fact.get("range")[1])
    # NCCL had 32 channels at most until 2.24.
    return 32 if high == 64 and fact.acts == "collective" and not at_least(version, "2.25") else high
