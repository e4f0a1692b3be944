"""The file of raw results: nothing but raw results is ever added to, and that is known before a launch."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eaglecfg.cli.bench_output import check_output
from eaglecfg.cli.bench_progress import Raw
from eaglecfg.cli.main import run
from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.launches import launch_data, plan_data, read_recorded
from tests.nccl_bench.conftest import LL, launch, make_plan

PLAN = make_plan(settings=[LL])
START = json.dumps({"event": "start", "format": 1, "plan": plan_data(PLAN)}) + "\n"
TIMED = launch("LL", 1, {14336: 11.5})
LAUNCH = json.dumps(launch_data(TIMED)) + "\n"
DRY = ("bench-allreduce", "--backend", "gloo", "--bytes", "14KiB", "--dry-run")

OTHERS = {
    "a config": b"version: 1\nengine: {name: sglang, version: 0.5.14}\n",
    "a ledger": b'{"event": "start", "study": "night", "format": 1}\n',
    "other JSON lines": b'{"a": 1}\n{"a": 2}\n',
    "a report": b'{\n  "version": 1\n}\n',
    "a blank line": b"\n",
    "no text": b"\xff\xfe\x00" * 100,
    "one long line": b"x" * 3_000_000,
    "deep": b"[" * 100_000 + b"\n",
    "a start of another format": START.replace('"format": 1', '"format": 2').encode(),
    "a start without a plan": b'{"event": "start", "format": 1, "plan": {}}\n',
    "results that somebody edited": (START + "nonsense\n" + LAUNCH).encode(),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_file_of_another_kind_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OTHERS[what])
    for _ in range(2):
        assert run([*DRY, "--output", str(path)]) == 2
    with pytest.raises(UsageError), Raw(str(path), PLAN):
        pass
    out, err = capsys.readouterr()
    assert out == ""
    assert str(path) in err
    assert "new" in err
    assert path.read_bytes() == OTHERS[what]


def test_what_is_no_place_for_a_file_is_refused_in_a_dry_run_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("-", "", ".", "nope/x", "pipe", "/dev/null", "loop", "a\0b"):
        assert run([*DRY, "--output", name]) == 2, name
        assert capsys.readouterr().err.startswith("eaglecfg: "), name
    assert sorted(each.name for each in tmp_path.iterdir()) == ["loop", "pipe"]


def test_a_dry_run_makes_no_file(tmp_path: Path) -> None:
    assert run([*DRY, "--output", str(tmp_path / "raw")]) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "before", ["", START, START + LAUNCH, START + LAUNCH + '{"event": "laun', START + LAUNCH + LAUNCH[:-1]]
)
def test_new_runs_are_added_to_own_results_whatever_became_of_the_last(tmp_path: Path, before: str) -> None:
    path = tmp_path / "raw"
    path.write_text(before, encoding="utf-8")
    check_output(str(path))
    with Raw(str(path), PLAN) as raw:
        raw.hear("launch", {"launch": TIMED})
        raw.end()
    assert path.read_text(encoding="utf-8").startswith(before)
    found = read_recorded(path)
    assert (found.plan, found.launches, found.complete) == (PLAN, (TIMED,), True)
    check_output(str(path))
