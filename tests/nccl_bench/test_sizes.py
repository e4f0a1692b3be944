"""Message sizes, given and worked out."""

from __future__ import annotations

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.size import (
    Shape,
    Size,
    fitting,
    parse_counts,
    parse_sizes,
    read_dtype,
    shape_sizes,
    size_words,
)


def test_sizes_rise_and_stand_once() -> None:
    found = parse_sizes(["1MiB, 56KiB", "57344,14336B", "1.75mib"])
    assert [size.bytes for size in found] == [14336, 57344, 1 << 20, 1835008]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "got nothing"),
        ("0", "got 0"),
        ("-5", "got -5"),
        ("1.5", "got 1.5"),
        ("5K", "write 5KiB"),
        ("5MB", "write 5MiB"),
        ("5TiB", "got 5TiB"),
        ("1e6", "got 1e6"),
        ("٣", "got ٣"),
        ("nan", "got nan"),
        ("2GiB", "a message of 2 GiB is more than 1 GiB"),
        ("1" * 50, "whole byte counts"),
        ("56KiB,,1MiB", "got nothing"),
    ],
)
def test_what_is_no_size_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_sizes([text])


def test_a_size_holds_whole_elements() -> None:
    fitting([Size(6)], "bfloat16")
    with pytest.raises(UsageError, match="6 bytes are no whole number of float32 elements"):
        fitting([Size(6)], "float32")


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (14336, "14 KiB"),
        (1835008, "1.75 MiB"),
        (1000, "1000 B"),
        (1 << 30, "1 GiB"),
        (23040, "22.5 KiB"),
        (1025, "1025 B"),
    ],
)
def test_sizes_are_shown_exactly(count: int, words: str) -> None:
    assert size_words(count) == words


def test_verify_and_draft_messages_follow_from_the_shape() -> None:
    # Kimi-K2.5: hidden 7168, four draft tokens in a chain, bf16.
    found = shape_sizes(Shape(7168, 7168, 4, 1, "bfloat16"), [1, 8])
    assert [(size.bytes, size.what) for size in found] == [
        (14336, "draft step at batch 1"),
        (57344, "verify at batch 1, draft extend at batch 1"),
        (114688, "draft step at batch 8"),
        (458752, "verify at batch 8, draft extend at batch 8"),
    ]


def test_a_narrower_draft_has_messages_of_its_own() -> None:
    found = shape_sizes(Shape(4096, 2048, 3, 2, "float32"), [1])
    assert {size.what: size.bytes for size in found} == {
        "draft step at batch 1": 2 * 2048 * 4,
        "draft extend at batch 1": 3 * 2048 * 4,
        "verify at batch 1": 3 * 4096 * 4,
    }


def test_without_speculation_there_is_decode_alone() -> None:
    assert shape_sizes(Shape(4096, None, 1, 0, "float16"), [2]) == (Size(16384, "decode at batch 2"),)


def test_counts_and_dtypes_are_read() -> None:
    assert parse_counts(["8,1", "8"], "--batch") == (1, 8)
    assert [read_dtype(text) for text in ("bf16", "float32")] == ["bfloat16", "float32"]
    for bad in ("0", "x", "", "1,,2", "-1", "9" * 9, "²"):
        with pytest.raises(UsageError, match="--batch takes "):
            parse_counts([bad], "--batch")
    with pytest.raises(UsageError, match="expected a dtype of bfloat16, float16, float32, got int8"):
        read_dtype("int8")
