"""What the engine makes of the text of its own variables, version by version."""

from __future__ import annotations

import re
from typing import Any

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.numerals import engine_switch
from eaglecfg.engines.table import rows_of, source_of
from eaglecfg.record import record

ON, OFF = ("true", "1"), ("false", "0")
"""What the engine's older reader of switches knows; it takes all else for off."""

_WANTED = {"int": "a whole number", "float": "a number"}
_MEANT_ON = ("on", "enable", "enabled", "yes", "y", "t", "true", "1")
_MEANT_OFF = ("off", "disable", "disabled", "no", "n", "f", "false", "0", "none", "null")


@record
class Misread:
    """A text that the engine cannot read. ``expected`` is what it takes, ``instead`` what it does with
    this one, both in words; ``harmless`` where that is what the text means; ``stops``: the server does not
    start; ``source``: where it was read."""

    expected: str
    instead: str
    harmless: bool
    source: str
    stops: bool = False


def misread(facts: EngineFacts, name: str, text: str) -> Misread | None:
    """What is wrong with ``text`` for the variable ``name``; None where it is read, or nothing is known.

    An empty text is what a template leaves for a variable that is not set, and does what that does.
    """
    bare = _row(facts, name, "at_import")
    if bare is not None and not is_number(text, bare["kind"]):
        return Misread(_WANTED[bare["kind"]], "stops while it starts", False, source_of(bare), stops=True)
    row = _row(facts, name)
    if row is None or not text.strip():
        return None
    kind, default, source = row["kind"], row.get("default"), source_of(row)
    if kind in ("int", "float"):
        if is_number(text, kind):
            return None
        return Misread(_WANTED[kind], _default(default), False, source)
    plain = text.lower()
    if kind == "switch":
        if plain in (*ON, *OFF):
            return None
        return Misread("true or 1 for on", "takes this for off", plain.strip() in _MEANT_OFF, source)
    if engine_switch(text) is not None:
        return None
    meant = True if plain.strip() in _MEANT_ON else False if plain.strip() in _MEANT_OFF else None
    runs = False if kind == "mixed" and default is not True else default
    return Misread("true or false", _default(default), meant is not None and meant is runs, source)


def switched(facts: EngineFacts, name: str, text: str | None) -> str | None:
    """The text of a variable, None where it is not set, or is a switch that is off; one that cannot be read
    does what its default does."""
    row = _row(facts, name)
    if text is None or row is None or row["kind"] not in ("bool", "switch", "mixed"):
        return text
    on = text.lower() in ON if row["kind"] == "switch" else engine_switch(text)
    return text if on or (on is None and row.get("default") is True) else None


def _row(facts: EngineFacts, name: str, table: str = "variables") -> Any:
    return rows_of(facts.name, facts.facts_of, "environment_types.json").get(table, {}).get(name)


def _default(value: Any) -> str:
    return "works with its default instead" if value is None else f"works with its default instead, {value}"


def is_number(text: str, kind: str) -> bool:
    """Whether Python's int() or float(), as ``kind`` says, takes ``text``."""
    if kind == "int":
        return re.fullmatch(r"\s*[+-]?[0-9]+(_[0-9]+)*\s*", text) is not None
    try:
        float(text)
    except ValueError:
        return False
    return True
