"""Plain scalars by the core schema of YAML 1.2, and not by that of 1.1."""

from __future__ import annotations

import math
from typing import Any

import pytest

from eaglecfg.source.scalars import ScalarRefused, plain_value

VALUES: list[tuple[str, Any]] = [
    ("", None),
    ("~", None),
    ("null", None),
    ("NULL", None),
    ("nil", "nil"),
    ("true", True),
    ("False", False),
    ("tRUE", "tRUE"),
    ("yes", "yes"),
    ("no", "no"),
    ("on", "on"),
    ("off", "off"),
    ("Off", "Off"),
    ("y", "y"),
    ("0", 0),
    ("-0", 0),
    ("12", 12),
    ("+12", 12),
    ("-3", -3),
    ("0x1F", 31),
    ("1_000", "1_000"),
    ("0b101", "0b101"),
    ("12:30", "12:30"),
    ("190:20:30", "190:20:30"),
    ("2026-11-29", "2026-11-29"),
    ("1.5", 1.5),
    ("1.", 1.0),
    (".5", 0.5),
    ("1.10", 1.1),
    ("1e5", 1e5),
    ("1e-5", 1e-5),
    ("1.0E+3", 1000.0),
    ("1e", "1e"),
    ("e5", "e5"),
    (".", "."),
    ("-", "-"),
    ("0.5.12", "0.5.12"),
    ("=", "="),
    ("<<", "<<"),
    (".inf", math.inf),
    ("-.INF", -math.inf),
    ("inf", "inf"),
    ("nan", "nan"),
    ("1e999", math.inf),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_plain_scalars(text: str, value: Any) -> None:
    found = plain_value(text)
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_is_one() -> None:
    found = plain_value(".NaN")
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize("text", ["010", "0o10", "00", "-012", "0_1", "0o7_7", "01" + "2" * 500])
def test_leading_zeros_are_refused(text: str) -> None:
    with pytest.raises(ScalarRefused) as caught:
        plain_value(text)
    assert caught.value.kind == "ambiguous-number"
    assert caught.value.help


@pytest.mark.parametrize("text", ["9" * 1001, "0x" + "f" * 1001, "-" + "1" * 100_000])
def test_endless_numbers_are_refused(text: str) -> None:
    with pytest.raises(ScalarRefused) as caught:
        plain_value(text)
    assert caught.value.kind == "number-too-long"
