"""Which differences are called real."""

from __future__ import annotations

import random

import pytest

from eaglecfg.nccl.bench.launches import Launch, Recorded
from eaglecfg.nccl.bench.plan import BenchPlan
from eaglecfg.nccl.bench.setting import DEFAULT, Setting
from eaglecfg.nccl.bench.size import Size
from eaglecfg.nccl.bench.verdicts import Cell, Outcome
from eaglecfg.tune.collective_judge import judge
from tests.nccl_bench.conftest import LL, launch, make_plan

SIMPLE = Setting("Simple", {"NCCL_PROTO": "Simple"})
SIZES = (Size(14336), Size(57344))


def measured(plan: BenchPlan, times: dict[str, list[float]], complete: bool = True) -> Outcome:
    """Launches of every setting, one per time; the second size takes double."""
    launches = [
        launch(name, number, {14336: value, 57344: 2 * value})
        for name, values in times.items()
        for number, value in enumerate(values)
    ]
    return judge(Recorded(plan, tuple(launches), complete))


def cell(outcome: Outcome, setting: str, size: int = 14336) -> Cell:
    return next(each for each in outcome.cells if (each.setting, each.size) == (setting, size))


def test_a_clear_difference_is_real_and_has_the_right_sign() -> None:
    outcome = measured(
        make_plan(settings=[LL, SIMPLE]),
        {DEFAULT: [12.5, 12.52, 12.48], "LL": [11.8, 11.82, 11.79], "Simple": [27.3, 27.31, 27.29]},
    )
    faster, slower = cell(outcome, "LL"), cell(outcome, "Simple")
    assert (faster.verdict, slower.verdict) == ("faster", "slower")
    assert faster.change == pytest.approx(-0.056, abs=0.002)
    assert slower.change == pytest.approx(1.184, abs=0.01)
    for each in (faster, slower):
        assert each.low < each.change < each.high  # type: ignore[operator]
    assert faster.us == pytest.approx(11.8)
    assert cell(outcome, DEFAULT).verdict == "baseline"
    assert (outcome.comparisons, outcome.rounds) == (4, 3)


def test_what_launches_differ_by_anyway_is_not_called_real() -> None:
    outcome = measured(
        make_plan(settings=[LL, SIMPLE]),
        {DEFAULT: [12.0, 13.0, 12.5], "LL": [12.2, 11.9, 12.8], "Simple": [12.9, 12.1, 12.4]},
    )
    assert {each.verdict for each in outcome.cells} == {"baseline", "not shown"}


def test_one_table_in_twenty_at_most_calls_a_difference_real_where_there_is_none() -> None:
    seeded = random.Random(7)
    settings = [Setting(f"s{number}", {"NCCL_BUFFSIZE": str(number)}) for number in range(5)]
    plan = make_plan(settings=settings)
    wrong = 0
    for _ in range(60):
        times = {
            name: [12.0 * (1 + seeded.gauss(0, 0.03)) for _ in range(3)]
            for name in (DEFAULT, *(each.name for each in settings))
        }
        wrong += any(each.verdict in ("faster", "slower") for each in measured(plan, times).cells)
    assert wrong <= 3


def test_a_setting_that_failed_is_not_compared_and_does_not_spoil_the_rest() -> None:
    plan = make_plan(settings=[LL, SIMPLE])
    good = [
        launch(name, number, {14336: 10.0, 57344: 20.0 + number})
        for name in (DEFAULT, "LL")
        for number in range(3)
    ]
    bad = [
        launch("Simple", 0, {14336: 30.0, 57344: 30.0}),
        Launch("Simple", "time", 1, 2.0, "hang", "no step for 15 s", ("a line",)),
    ]
    outcome = judge(Recorded(plan, (*good, *bad), True))
    assert cell(outcome, "Simple").verdict == "failed"
    assert cell(outcome, "Simple").us is None
    assert cell(outcome, "LL").verdict == "not shown"
    (trouble,) = outcome.troubles
    assert (trouble.setting, trouble.failure, trouble.lines) == ("Simple", "hang", ("a line",))
    assert outcome.comparisons == 2


def test_one_round_is_shown_and_judged_by_nobody() -> None:
    outcome = measured(make_plan(settings=[LL], processes=1), {DEFAULT: [12.0], "LL": [6.0]})
    assert cell(outcome, "LL").verdict == "not judged"
    assert cell(outcome, "LL").change == pytest.approx(-0.5)
    assert "give --processes 3 or more" in outcome.notes[0]


def test_rounds_that_were_cut_short_do_not_count_for_intervals() -> None:
    outcome = measured(
        make_plan(settings=[LL], processes=4),
        {DEFAULT: [12.0, 12.1, 12.2, 12.0], "LL": [11.0, 11.1, 11.2]},
        complete=False,
    )
    assert outcome.rounds == 3
    assert not outcome.complete
    assert cell(outcome, DEFAULT).launches == 4


def test_two_rounds_call_nothing_real() -> None:
    """The second goes backwards: of three settings the last has its two launches side by side in time."""
    outcome = measured(make_plan(settings=[LL], processes=2), {DEFAULT: [12.0, 12.0], "LL": [6.0, 6.0]})
    assert cell(outcome, "LL").verdict == "not judged"
    assert "after two rounds" in outcome.notes[0]


def test_without_a_default_nothing_is_compared() -> None:
    plan = make_plan(settings=[LL])
    outcome = judge(Recorded(plan, (Launch(DEFAULT, "check", -1, 1.0, "error", "broke"),), True))
    assert not outcome.measured
    assert [each.verdict for each in outcome.cells] == ["failed", "not measured"] * 2
    assert "The default itself failed" in outcome.notes[0]


def test_nothing_at_all_is_a_table_of_nothing() -> None:
    outcome = judge(Recorded(make_plan(settings=[LL]), (), False))
    assert {each.verdict for each in outcome.cells} == {"not measured"}


def test_times_that_are_no_times_give_no_interval() -> None:
    outcome = measured(make_plan(settings=[LL]), {DEFAULT: [1.0, 0.0, 1.0], "LL": [-0.5, 1.0, 2.0]})
    assert cell(outcome, "LL").verdict == "not judged"


def test_identical_times_give_a_difference_of_nothing() -> None:
    outcome = measured(make_plan(settings=[LL]), {DEFAULT: [12.0] * 3, "LL": [12.0] * 3})
    assert (cell(outcome, "LL").verdict, cell(outcome, "LL").change) == ("not shown", 0.0)


def _log(protocol: str, channels: int = 1) -> str:
    lines = ["h:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0"]
    lines += [
        f"h:1:1 [0] NCCL INFO AllReduce: {size.bytes} Bytes -> Algo RING proto {protocol} "
        f"channel{{Lo..Hi}}={{0..{channels - 1}}}"
        for size in SIZES
    ]
    return "\n".join(lines) + "\n"


def test_what_nccl_chose_stands_beside_the_times() -> None:
    plan = make_plan(settings=[LL, SIMPLE])
    checks = (
        Launch(DEFAULT, "check", -1, 1.0, log=_log("LL", 2)),
        Launch("LL", "check", -1, 1.0, log=_log("LL", 2)),
        Launch("Simple", "check", -1, 1.0, log=_log("SIMPLE")),
    )
    outcome = judge(Recorded(plan, checks, True))
    assert str(cell(outcome, DEFAULT).choice) == "Ring LL, 2 ch"
    assert str(cell(outcome, "Simple", 57344).choice) == "Ring Simple, 1 ch"


def test_a_setting_that_changed_no_choice_is_called_so() -> None:
    plan = make_plan(settings=[LL, Setting("64 threads", {"NCCL_NTHREADS": "64"})])
    took = "h:1:1 [0] NCCL INFO NCCL_PROTO set by environment to LL\n"
    threads = "h:1:1 [0] NCCL INFO NCCL_NTHREADS set by environment to 64.\n"
    checks = (
        Launch(DEFAULT, "check", -1, 1.0, log=_log("LL")),
        Launch("LL", "check", -1, 1.0, log=took + _log("LL")),
        Launch("64 threads", "check", -1, 1.0, log=threads + _log("LL")),
    )
    outcome = judge(Recorded(plan, checks, True))
    assert "NCCL chose what it chooses by default at every size" in outcome.inert["LL"]
    assert "64 threads" not in outcome.inert  # the choice does not tell of threads
