"""Launches as processes: their order, their ends, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.machine.processes import all_processes, command_line
from eaglecfg.nccl.bench.launches import Launch
from eaglecfg.nccl.bench.setting import DEFAULT, Setting
from eaglecfg.tune.collectives import Collectives, signal_name
from tests.nccl_bench.conftest import LL, make_plan

pytestmark = pytest.mark.usefixtures("temporary")


@pytest.fixture(autouse=True)
def _short_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eaglecfg.tune.collective_ranks.LAST_WORD_S", 0.1)


def broken(kind: str, rank: int, event: str) -> Setting:
    return Setting("broken", {"STANDIN_FAULT": f"{kind}:{rank}:{event}"})


def ranks_alive(standin: str) -> list[int]:
    """Processes of the stand-in that still run."""
    found = [each for each in all_processes().values() if each.state not in "ZX"]
    return [each.pid for each in found if standin in command_line(each.pid)]


class Run:
    """A run that remembers what it told."""

    def __init__(self, standin: str) -> None:
        self.standin, self.told = standin, []  # type: ignore[var-annotated]

    def __call__(self, *settings: Setting, **changes: Any) -> list[Launch]:
        self.runner = Collectives(make_plan(self.standin, settings, **changes), os.environ.copy(), self.hear)
        self.runner.run()
        return self.runner.launches

    def hear(self, kind: str, about: Mapping[str, Any]) -> None:
        self.told.append((kind, about))


@pytest.fixture
def run(standin: str) -> Run:
    return Run(standin)


def test_checks_come_first_then_rounds_and_every_second_one_backwards(run: Run) -> None:
    launches = run(LL, processes=2)
    assert [(each.setting, each.kind, each.round) for each in launches] == [
        (DEFAULT, "check", -1),
        ("LL", "check", -1),
        (DEFAULT, "time", 0),
        ("LL", "time", 0),
        ("LL", "time", 1),
        (DEFAULT, "time", 1),
    ]
    assert not any(each.failure for each in launches)


def test_of_every_replay_the_slowest_rank_counts_and_only_checks_keep_a_log(run: Run) -> None:
    check, timed = run(processes=1)
    assert timed.samples == {14336: (11.0, 10.0), 57344: (11.0, 10.0)}
    assert timed.around[14336] == 1.0
    assert timed.calls[57344] == 2
    assert timed.facts["gpus"] == [{"name": "H200", "uuid": "GPU-0"}, {"name": "H200", "uuid": "GPU-1"}]
    assert timed.log == ""
    assert "AllReduce: 57344 Bytes" in check.log
    assert check.checked == 2 * 2 * 2 * 4  # ranks x sizes x (eager, graph) x rounds


@pytest.mark.parametrize("event", ["start", "ready", "done"])
def test_a_rank_that_hangs_anywhere_is_ended_and_the_rest_goes_on(run: Run, event: str) -> None:
    begun = time.monotonic()
    launches = run(broken("hang", 1, event), LL, processes=1, limit_s=0.3)
    failed = [each for each in launches if each.failure]
    if event == "done":  # it has told everything; it is ended all the same
        assert failed == []
    else:
        assert [each.setting for each in failed] == ["broken"]
        assert failed[0].failure == "hang"
        assert "no step for 0.3 s (--time-limit)" in failed[0].message
    assert [each.setting for each in launches if each.kind == "time" and not each.failure][:2] != []
    assert ranks_alive(run.standin) == []
    assert time.monotonic() - begun < 15


def test_a_stopped_rank_is_named(run: Run) -> None:
    launches = run(broken("stop", 1, "joined"), processes=1, limit_s=0.3)
    assert "rank 1 (stopped by a signal)" in next(each for each in launches if each.failure).message
    assert ranks_alive(run.standin) == []


def test_what_a_rank_started_is_ended_with_it(run: Run) -> None:
    run(broken("child", 0, "joined"), processes=1, limit_s=0.3)
    assert ranks_alive(run.standin) == []


@pytest.mark.parametrize(
    ("kind", "failure", "words"),
    [
        ("kill", "exit", "rank 1 ended by SIGKILL"),
        ("exit", "exit", "rank 1 ended with status 3"),
        ("wrong", "wrong", "rank 1 holds a wrong sum (4 B, bfloat16, eager): 1 of 2 values differ"),
        ("error", "error", "rank 1: RuntimeError: it broke"),
    ],
)
def test_a_rank_that_fails_says_how(run: Run, kind: str, failure: str, words: str) -> None:
    launches = run(broken(kind, 1, "joined"), LL, processes=1)
    failed = next(each for each in launches if each.failure)
    assert failed.failure == failure
    assert failed.message.startswith(words)
    assert "second line" not in failed.message
    told = ("ncclInvalidUsage: NCCL_ALGO has no such algorithm",)
    assert failed.lines == (told if kind == "exit" else ())  # the line of the log that decides
    assert [each.setting for each in launches] == [DEFAULT, "broken", "LL", DEFAULT, "LL"]


def test_every_signal_can_be_named() -> None:
    assert signal_name(9) == "SIGKILL"
    assert {signal_name(number)[:3].lower() for number in range(1, 65)} == {"sig"}


def test_a_setting_that_fails_in_a_round_is_not_launched_again(run: Run) -> None:
    launches = run(broken("kill", 0, "captured"), LL, processes=3)
    assert sum(each.setting == "broken" for each in launches) == 2  # its check, and the round that failed
    assert sum(each.setting == "LL" for each in launches) == 4


def test_where_the_default_fails_its_check_nothing_else_is_launched(run: Run) -> None:
    run.runner = Collectives(
        make_plan(run.standin, [LL]), {**os.environ, "STANDIN_FAULT": "kill:0:joined"}, run.hear
    )
    run.runner.run()
    assert [each.failure for each in run.runner.launches] == ["exit"]


def test_a_rank_that_ends_before_it_imported_is_a_failed_start(run: Run) -> None:
    launches = run(broken("exit", 0, "start"), processes=1)
    assert next(each for each in launches if each.failure).failure == "start"


def test_no_rank_imports_while_another_launch_is_timed(run: Run, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    slow = Setting("slow", {"STANDIN_IMPORT_S": "0.3"})
    run.runner = Collectives(
        make_plan(run.standin, [slow], processes=2), {**os.environ, "STANDIN_DIARY": str(diary)}, run.hear
    )
    run.runner.run()
    rows = [line.split() for line in diary.read_text().splitlines()]
    spans: dict[tuple[str, str], float] = {(pid, what): float(at) for at, pid, what in rows}
    importing = [
        (spans[pid, "import"], spans[pid, "imported"]) for _, pid, what in rows if what == "imported"
    ]
    timing = [(spans[pid, "measure"], spans[pid, "measured"]) for _, pid, what in rows if what == "measured"]
    assert len(timing) == 8
    assert len(importing) == 12
    assert not any(a < d and c < b for a, b in importing for c, d in timing)


def test_an_interrupt_leaves_no_rank_and_keeps_what_was_measured(
    run: Run, temporary: Callable[[], list[str]]
) -> None:
    def hear(kind: str, about: Mapping[str, Any]) -> None:
        if kind == "step" and about["event"]["event"] == "captured":
            raise KeyboardInterrupt

    runner = Collectives(make_plan(run.standin, [LL]), os.environ.copy(), hear)
    with pytest.raises(KeyboardInterrupt):
        runner.run()
    assert [each.kind for each in runner.launches] == ["check", "check"]
    assert ranks_alive(run.standin) == []
    assert temporary() == []


def test_ranks_end_when_the_coordinator_is_gone(standin: str, tmp_path: Path) -> None:
    """Its end of their pipes closes, whatever killed it."""
    from eaglecfg.nccl.bench.plan import Job
    from eaglecfg.tune.collective_ranks import RankGroup, exit_status

    plan = make_plan(standin)
    group = RankGroup(plan, Job(plan.settings[0], "check", -1), os.environ, tmp_path)
    for rank in group.ranks:
        assert rank.process.stdin is not None
        rank.process.stdin.close()
    deadline = time.monotonic() + 5
    while any(exit_status(rank.process) is None for rank in group.ranks) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [exit_status(rank.process) for rank in group.ranks] == [4, 4]
    assert group.end() == []


def test_a_python_that_cannot_be_started_is_a_usage_error(tmp_path: Path) -> None:
    runner = Collectives(make_plan(str(tmp_path / "none")), os.environ.copy(), lambda kind, about: None)
    with pytest.raises(UsageError, match="cannot be started: No such file or directory; --python"):
        runner.run()


def test_variables_of_a_setting_reach_its_ranks_and_no_others(run: Run, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    run(Setting("told", {"STANDIN_DIARY": str(diary)}), processes=1)
    assert diary.read_text().count("imported") == 4  # two ranks, check and round


def test_signals_to_our_group_do_not_reach_the_ranks(run: Run) -> None:
    """A terminal's Ctrl-C goes to its whole foreground group; the ranks are ended by us alone."""
    seen: list[int] = []

    def hear(kind: str, about: Mapping[str, Any]) -> None:
        if kind == "step" and not seen:
            seen.extend(os.getsid(rank.process.pid) for rank in runner.group.ranks)  # type: ignore[union-attr]

    runner = Collectives(make_plan(run.standin, processes=1), os.environ.copy(), hear)
    runner.run()
    assert os.getsid(0) not in seen
    assert len(set(seen)) == 2


def test_a_rank_killed_from_outside_ends_the_launch_at_once(run: Run) -> None:
    def hear(kind: str, about: Mapping[str, Any]) -> None:
        if kind == "step" and about["event"] == {"event": "joined", "rank": 1}:
            os.kill(runner.group.ranks[1].process.pid, signal.SIGKILL)  # type: ignore[union-attr]

    runner = Collectives(
        make_plan(run.standin, limit_s=30), {**os.environ, "STANDIN_FAULT": "hang:1:joined"}, hear
    )
    begun = time.monotonic()
    runner.run()
    assert [each.failure for each in runner.launches] == ["exit"]
    assert time.monotonic() - begun < 5
