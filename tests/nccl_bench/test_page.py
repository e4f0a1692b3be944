"""The recorded run, and the page that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.nccl.bench.launches import read_recorded
from eaglecfg.nccl.bench.verdicts import Outcome
from eaglecfg.nccl.latency import latency_table
from eaglecfg.report.bench_allreduce import matrix, render
from eaglecfg.report.styled import plain
from eaglecfg.tune.collective_judge import judge

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "bench-allreduce.md"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return judge(read_recorded(ROOT / "studies" / "results" / "bench-allreduce-2xh200.jsonl"))


def test_the_table_of_the_page_is_that_of_the_recorded_run(outcome: Outcome) -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = text.partition("bench-allreduce-2xh200.jsonl -->\n")[2].partition("\n<!-- end -->")[0]
    assert shown.splitlines() == matrix(outcome)


def test_the_recorded_run_has_the_settings_and_launches_that_it_needs(outcome: Outcome) -> None:
    assert outcome.complete
    assert outcome.troubles == ()
    assert (outcome.comparisons, outcome.rounds, outcome.launches) == (70, 3, 44)
    assert outcome.checked == 5544
    assert [gpu["name"] for gpu in outcome.facts["gpus"]] == ["NVIDIA H200"] * 2


def test_settings_that_change_nothing_show_nothing(outcome: Outcome) -> None:
    """Ring, 512 threads, LL up to 1 MiB and Simple at 4 MiB are what NCCL does anyway."""
    same = [
        cell
        for cell in outcome.cells
        if cell.setting in ("Ring", "512 threads")
        or (cell.setting == "LL" and cell.size < 1 << 22)
        or (cell.setting == "Simple" and cell.size == 1 << 22)
    ]
    base = {cell.size: cell.choice for cell in outcome.cells if cell.setting == "default"}
    assert len(same) == 21
    assert all(cell.choice == base[cell.size] for cell in same)
    assert {cell.verdict for cell in same} == {"not shown"}
    assert max(abs(cell.change or 0.0) for cell in same) < 0.008


def test_what_the_page_says_in_words_is_in_the_results(outcome: Outcome) -> None:
    at = {(cell.setting, cell.size): cell for cell in outcome.cells}
    assert round((at["128 threads", 14336].change or 0) * 100) == -15
    assert round((at["256 threads", 57344].change or 0) * 100) == -5
    assert round((at["LL", 1 << 22].change or 0) * 100) == 19
    saved = -(at["256 threads", 57344].change or 0) * (at["default", 57344].us or 0) * 123
    assert round(saved) == 42
    worse = [cell.change or 0 for cell in outcome.cells if cell.setting == "P2P off"]
    assert (round(1 + min(worse), 1), round(1 + max(worse), 1)) == (1.7, 5.2)


def test_what_trace_compares_its_model_with_is_the_recorded_run(outcome: Outcome) -> None:
    table = latency_table()["measured"]
    at = {cell.setting: cell for cell in outcome.cells if cell.size == table["bytes"]}
    assert {name: round(at[name].us or 0, 2) for name in table["us"]} == table["us"]
    assert round(at["default"].us or 0, 2) == table["default"]
    assert outcome.plan.ranks == table["ranks"]
    assert {gpu["name"] for gpu in outcome.facts["gpus"]} == {f"NVIDIA {table['gpu']}"}
    assert (ROOT / table["recorded"]).is_file()


@pytest.mark.parametrize("width", [48, 60, 80, 100, 110])
def test_every_number_is_in_the_lines_of_every_terminal(outcome: Outcome, width: int) -> None:
    text = plain(render(outcome, width))
    assert max(map(len, text.splitlines())) <= width
    wide = plain(render(outcome, 1000))
    assert sorted(text.split()) == sorted(wide.split())
