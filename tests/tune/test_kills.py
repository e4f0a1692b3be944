"""Random kills of coordinator, server and supervisor; ``python -m benchmarks.kills`` does a thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.kills import run


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_any_moment_lose_leave_and_change_nothing(seed: int, tmp_path: Path) -> None:
    tally = run(25, seed, tmp_path, launches=10)
    assert tally.kills >= 25
    assert (tally.lost, tally.left, tally.different) == (0, 0, 0)
    assert tally.resumes
