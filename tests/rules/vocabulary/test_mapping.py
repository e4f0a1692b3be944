"""Both readings of d2t."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eaglecfg.rules.vocabulary.facts import padded_rows
from eaglecfg.rules.vocabulary.mapping import MANY, read_mapping

SIZE = 1024
CLUSTERED = [token for token in range(SIZE) if token % 16 < 4]
"""Runs of four neighbours, as frequent tokens stand in a vocabulary."""


def offsets(tokens: Sequence[int]) -> list[int]:
    return [token - index for index, token in enumerate(tokens)]


def marks(tokens: Sequence[int], size: int = SIZE) -> bytes:
    return bytes(token in set(tokens) for token in range(size))


def test_offsets_that_t2d_confirms_are_right() -> None:
    mapping = read_mapping(offsets(CLUSTERED), SIZE, marks(CLUSTERED))
    assert mapping.marked == len(CLUSTERED)
    assert not mapping.absolute
    assert not mapping.outside
    assert not mapping.repeated


def test_target_ids_that_t2d_confirms_are_absolute() -> None:
    mapping = read_mapping(CLUSTERED, SIZE, marks(CLUSTERED))
    assert mapping.absolute
    assert mapping.marked_absolute == len(CLUSTERED)


def test_rising_ids_that_leave_the_vocabulary_are_absolute_without_t2d() -> None:
    mapping = read_mapping(CLUSTERED, SIZE, None)
    assert mapping.outside
    assert mapping.absolute


def test_rising_ids_that_stay_inside_are_only_perhaps_absolute() -> None:
    low = CLUSTERED[: MANY + 8]
    mapping = read_mapping(low, SIZE, None)
    assert not mapping.outside
    assert not mapping.absolute
    assert mapping.perhaps_absolute


@pytest.mark.parametrize("step", [2, 3, 4])
def test_evenly_spread_offsets_are_not_taken_for_target_ids(step: int) -> None:
    tokens = list(range(0, SIZE, step))
    mapping = read_mapping(offsets(tokens), SIZE, None)
    assert not mapping.absolute
    assert mapping.perhaps_absolute is (step == 2), "only neighbours make a list look like target ids"


def test_negative_offsets_of_an_unsorted_map_are_right() -> None:
    tokens = list(reversed(CLUSTERED))
    mapping = read_mapping(offsets(tokens), SIZE, None)
    assert not mapping.outside
    assert not mapping.absolute
    assert not mapping.perhaps_absolute


def test_zeros_are_the_identity_on_the_whole_vocabulary_only() -> None:
    assert read_mapping([0] * SIZE, SIZE, None).identity
    assert not read_mapping([0] * 64, SIZE, None).identity


def test_entries_outside_and_repeated_are_named_by_index() -> None:
    entries = offsets(CLUSTERED)
    entries[5] = SIZE
    entries[9] = entries[8] - 1
    mapping = read_mapping(entries, SIZE, None)
    assert mapping.outside == (5,)
    assert mapping.repeated == ((8, 9),)


def test_an_empty_map_is_neither() -> None:
    mapping = read_mapping([], SIZE, bytes(SIZE))
    assert not mapping.absolute
    assert not mapping.perhaps_absolute


@pytest.mark.parametrize(
    ("vocabulary", "ranks", "rows"),
    [
        (151936, 1, 151936),
        (151936, 2, 151936),
        (152064, 2, 152064),
        (1010, 1, 1024),
        (64, 3, 192),
        (2304, 2, 2304),
    ],
)
def test_padding_of_a_vocabulary(vocabulary: int, ranks: int, rows: int) -> None:
    assert padded_rows(vocabulary, ranks) == rows
    assert rows % ranks == 0
