"""A flag that is not known is never taken for one that does the opposite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nccl.test_rules import report


@pytest.mark.parametrize(
    ("flag", "other"),
    [
        ("enable_custom_all_reduce", "disable_custom_all_reduce"),
        ("enable_radix_cache", "disable_radix_cache"),
        ("enable_overlap_schedule", "disable_overlap_schedule"),
        ("disable_symm_mem", "enable_symm_mem"),
    ],
)
def test_the_opposite_is_not_advised(flag: str, other: str, tmp_path: Path) -> None:
    (one,) = [x.finding for x in report(tmp_path, {}, server={flag: True}).findings if x.rule.id == "EC301"]
    assert other not in f"{one.message} {one.help}"
    assert one.fix is None or one.fix.text != other


def test_a_slip_is_still_mended(tmp_path: Path) -> None:
    found = report(tmp_path, {}, server={"disable_custom_allreduce": True})
    (one,) = [x.finding for x in found.findings if x.rule.id == "EC301"]
    assert "disable_custom_all_reduce" in one.help
