"""Heads over ranks."""

from __future__ import annotations

import pytest

from eaglecfg.rules.parallel.ranks import divisors, spread


@pytest.mark.parametrize(
    ("heads", "ranks", "fits"),
    [(8, 8, True), (8, 16, True), (4, 8, True), (2, 1, True), (10, 4, False), (3, 2, False), (6, 8, False)],
)
def test_key_value_heads_are_cut_or_kept_evenly(heads: int, ranks: int, fits: bool) -> None:
    assert spread(heads, ranks) is fits


def test_divisors_are_rank_counts_that_work() -> None:
    assert divisors(14, 7) == [1, 2]
    assert divisors(64, 8) == [1, 2, 4, 8]
