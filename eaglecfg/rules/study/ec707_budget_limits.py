"""The limits of a budget must be times and numbers that can be reached."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model

_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_LOOSE = re.compile(r"([0-9]{1,2})[:.h]([0-9]{2})")


def check(context: Context) -> Iterator[Item]:
    """``until`` is a time of day, ``hours`` a positive number."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    until, hours = study.budget.until, study.budget.hours
    if until is not None and not _TIME.fullmatch(until):
        yield Finding(
            f"budget.until takes a time of day from 00:00 to 23:59, not {until[:20]}",
            path=("budget", "until"),
            why="the study would not know when to end",
            fix=_fix(until),
            help=f'write "{_nearest_time(until)}"',
        )
    if hours is not None and not (hours > 0 and math.isfinite(hours)):
        yield Finding(
            f"budget.hours takes a number above 0, not {hours:g}",
            path=("budget", "hours"),
            why="the study would end before it begins, or never",
            help="write the hours that the study may take",
        )


def _nearest_time(text: str) -> str:
    found = _LOOSE.search(text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        return "07:00"
    return f"{int(found[1]):02}:{found[2]}"


def _fix(until: str) -> Fix | None:
    """A time that lacks a digit, or has another character between hours and minutes."""
    found, meant = _LOOSE.fullmatch(until.strip()), _nearest_time(until)
    if found is None or int(meant[:2]) != int(found[1]):
        return None
    return Fix(f"set until to {meant}", ("budget", "until"), f'"{meant}"')


RULE = Rule(
    id="EC707",
    slug="budget-limits",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
