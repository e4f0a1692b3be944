from __future__ import annotations

import pytest

from eaglecfg.engines.numerals import whole


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("-1", -1),
        ("128k", 128_000),
        ("64Ki", 65_536),
        ("2M", 2_000_000),
        ("0", 0),
        ("30_000", 30_000),
        ("+4", 4),
        (" 8 ", 8),
        ("-2k", -2_000),
        ("007", 7),
    ],
)
def test_numbers_and_suffixes(value: object, number: int) -> None:
    assert whole(value) == number


@pytest.mark.parametrize(
    "value",
    [
        True,
        1.0,
        None,
        [],
        {},
        "",
        "k",
        "12kM",
        "1.5",
        "1__0",
        "_1",
        "1_",
        "1_0k",
        "+2k",
        "1 0",
        "²",
        "9" * 5000,
        "--1",
        "0x10",
    ],
)
def test_anything_else_is_no_number(value: object) -> None:
    assert whole(value) is None
