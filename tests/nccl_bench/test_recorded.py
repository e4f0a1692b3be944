"""The file of raw results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.launches import Launch, launch_data, plan_data, read_recorded
from tests.nccl_bench.conftest import LL, launch, make_plan

PLAN = make_plan(settings=[LL], inherited={"NCCL_NVLS_ENABLE": "0"})
START = {"event": "start", "format": 1, "plan": plan_data(PLAN)}
TIMED = launch("LL", 1, {14336: 11.5}, around={14336: 1.5}, calls={14336: 50}, facts={"torch": "2.11.0"})
FAILED = Launch("LL", "check", -1, 16.1, "hang", "no step", ("NCCL WARN é",), log="NCCL INFO\n")


def written(path: Path, *rows: object, end: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + end, encoding="utf-8")
    return path


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "raw", START, launch_data(TIMED), launch_data(FAILED), {"event": "end"})
    found = read_recorded(path)
    assert found.plan == PLAN
    assert found.launches == (TIMED, FAILED)
    assert found.complete


def test_the_last_run_of_a_file_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "raw", START, launch_data(TIMED), {"event": "end"}, START, launch_data(FAILED))
    found = read_recorded(path)
    assert found.launches == (FAILED,)
    assert not found.complete


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "raw", START, launch_data(TIMED), end='\n{"event": "laun')
    assert read_recorded(path).launches == (TIMED,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "{}\n",
        "[]\n{}\n",
        "nonsense\n\n",
        '{"event": "launch"}\n\n',
        '{"event": "start", "format": 99, "plan": {}}\n\n',
        json.dumps({**START, "plan": {**plan_data(PLAN), "more": 1}}) + "\n\n",
        json.dumps({"event": "other"}) + "\n",
        "[" * 100_000 + "\n\n",
    ],
)
def test_a_file_that_is_something_else_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "raw"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="expected"):
        read_recorded(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no text"):
        read_recorded(path)


def test_one_number_stands_for_a_launch() -> None:
    one = Launch("LL", "time", 0, 1.0, samples={4: (10.0, 11.0, 30.0, 10.5, 10.2)})
    assert one.median(4) == 10.5
    assert one.median(8) is None
    assert one.wander(8) is None
    assert 0 < (one.wander(4) or 0) < 1
