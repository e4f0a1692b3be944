"""docs/nccl-log.md names what the command knows; tests/docs runs its examples."""

from __future__ import annotations

from pathlib import Path

from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.report.nccl_log import wanted

PAGE = Path(__file__).parents[2] / "docs" / "nccl-log.md"


def test_the_page_names_the_variables_and_the_libraries() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert wanted() in text
    for version in log_facts()["libraries"]:
        assert version in text
