"""NCCL's numbers, compared with C's own strtoll."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglecfg.nccl.numbers import read_number

LIBC = ctypes.CDLL(None)
LIBC.strtoll.restype = ctypes.c_longlong
LIBC.strtoll.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)


def strtoll(text: str) -> int:
    return int(LIBC.strtoll(text.encode(), None, 0))


@pytest.mark.parametrize(
    ("text", "value", "plain"),
    [
        ("1", 1, True),
        ("-1", -1, True),
        ("0", 0, True),
        ("0x400000", 4194304, True),
        ("true", 0, False),
        ("4M", 4, False),
        ("4MiB", 4, False),
        ("1e6", 1, False),
        ("010", 8, False),
        ("08", 0, False),
        (" 8", 8, False),
        ("+8", 8, False),
        ("8 ", 8, False),
        ("0x", 0, False),
        ("", 0, False),
        ("2.5", 2, False),
        ("- 1", 0, False),
    ],
)
def test_known_spellings(text: str, value: int, plain: bool) -> None:
    number = read_number(text)
    assert number.value == value == strtoll(text)
    assert number.plain is plain


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "9" * 100, "0x" + "f" * 80])
def test_numbers_that_do_not_fit_are_the_nearest_bound(text: str) -> None:
    number = read_number(text)
    assert number.overflow
    assert number.value == strtoll(text)


@given(st.text(alphabet=" \t+-0123456789abcdefxXMkK.e", max_size=24))
def test_agrees_with_c(text: str) -> None:
    assert read_number(text).value == strtoll(text)
