"""Every setting so many times, and only the baselines that a study wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from tests.tune.folder import Folder

MORE = "budget: {launches_each: 2}\nbaselines: [as_it_stands]\nstep_cost: {accept_length: 2.5}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Two entries of NCCL where its all-reduce carries decode, each with two step counts, without off."""
    made = Folder(tmp_path)
    made.study(steps=[2, 4], more=MORE, tokens=64, space="  nccl: [unset, {proto: LL, nthreads: 128}]\n")
    text = (tmp_path / "study.yaml").read_text(encoding="utf-8")
    (tmp_path / "study.yaml").write_text(text.replace("['off', {", "[{"), encoding="utf-8")
    config = (tmp_path / "eaglecfg.yaml").read_text(encoding="utf-8")
    more = "    parallel: {tp_size: 2}\n    server: {disable_custom_all_reduce: true}\n"
    (tmp_path / "eaglecfg.yaml").write_text(config + more, encoding="utf-8")
    return made


def test_rounds_hold_every_setting_and_nothing_else(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*folder.arguments, "--no-proof"]) == 0
    out = capsys.readouterr().out
    assert "profile       demo: 2 rounds of 4 = 8 launches, every second round backwards" in out
    labels = ["4 steps", "2 steps", "2 steps, proto LL, nthreads 128", "4 steps, proto LL, nthreads 128"]
    ran = [(label, number) for label, number, _, failure in folder.finished() if not failure]
    assert ran == [(label, 0) for label in labels] + [(label, 1) for label in reversed(labels)]
    assert "vs as it stands" in out
    assert "vs off" not in out
    assert (
        run(["tune", "export", str(folder.path / "study.yaml"), "--sqlite", str(folder.path / "s.db")]) == 0
    )
    assert "8 launches are in " in capsys.readouterr().out


def test_a_budget_of_launches_ends_it_in_the_order_of_the_rounds(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*folder.arguments, "--no-proof", "--launches", "2"]) == 0
    assert [number for _, number, _, _ in folder.finished()] == [0, 0]
    assert run([*folder.arguments, "--no-proof"]) == 0
    assert [number for _, number, _, _ in folder.finished()] == [0] * 4 + [1] * 4
    capsys.readouterr()
