"""What a dry run and a later look say of budgets, of blocks that are left out, and of launches that do not
count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from tests.tune.folder import Folder
from tests.tune.simulate import BASE, make


def dry(folder: Folder, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert run([*folder.arguments, "--dry-run", "--keep-inert", *more]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("budget", "said", "advice"),
    [
        (
            "{launches_each: 3, launches: 5}",
            "5 launches, too few for all of the rounds (9)",
            "budget.launches",
        ),
        ("{launches_each: 1}", "", "budget.launches_each"),
        ("{launches_each: 1, launches: 9}", "budget 9 launches can show", "budget.launches_each"),
    ],
)
def test_a_plan_names_the_limit_that_ends_it(
    budget: str, said: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    folder.study(more=f"budget: {budget}\n")
    out = dry(folder, capsys)
    assert said in out
    assert f"too few rounds to show any gain; raise {advice} " in out


def test_what_can_be_shown_counts_the_rounds_that_are_paid_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    folder.study(more="budget: {launches_each: 5, launches: 7}\n")
    assert "with 2 launches a setting" in dry(folder, capsys)
    folder.study(more="budget: {launches_each: 3, launches: 9}\n")
    out = dry(folder, capsys)
    assert "with 3 launches a setting" in out
    assert "too few" not in out


def test_unset_takes_a_whole_block_out_and_a_dry_run_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    config = (tmp_path / "eaglecfg.yaml").read_text(encoding="utf-8")
    folder.study(space="  nccl: [unset, {}, {nthreads: 64}]\n")
    assert "unset nccl:" not in dry(folder, capsys), "there is nothing to take out"
    (tmp_path / "eaglecfg.yaml").write_text(config + "    nccl: {proto: LL, algo: Ring}\n", encoding="utf-8")
    out = dry(folder, capsys)
    assert "unset nccl: unset takes the deployment's own settings out (proto LL, algo Ring)" in out
    folder.study(space="  nccl: [{nthreads: 64}]\n")
    assert "unset nccl:" not in dry(folder, capsys)


def test_blocks_are_laid_over_the_deployments_own() -> None:
    space = make({"nccl": ["unset", {}, {"nthreads": "64"}]}, base={**BASE, "nccl": {"proto": "LL"}}).space
    blocks = [dict(arm.deployment.nccl) for arm in space.arms()]
    assert blocks == [{}, {"proto": "LL"}, {"proto": "LL", "nthreads": "64"}]


def test_a_setting_is_named_once() -> None:
    space: dict[str, Any] = {"nccl": ["unset", {"proto": "LL"}], "nccl.nthreads": ["64", "128"]}
    labels = [arm.label for arm in make(space).space.arms()]
    assert labels == ["nthreads 64", "nthreads 128", "proto LL, nthreads 64", "proto LL, nthreads 128"]


def test_launches_under_another_prefix_are_spoken_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    folder.study(steps=[4], more="budget: {launches_each: 1}\nbaselines: [as_it_stands]\n", tokens=16)
    path = tmp_path / "study.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("['off', {", "[{"), encoding="utf-8")
    prefix = "env MINE=1 {python} -m eaglecfg.tune.standin"
    assert run([*folder.arguments, "--launch-prefix", prefix]) == 0
    capsys.readouterr()
    shown = f"another launch prefix: --launch-prefix '{prefix}' shows them"
    assert run(["tune", "report", str(path)]) == 1
    said = capsys.readouterr()
    assert "No setting has been measured under these conditions: 1 launch of this record was" in said.out
    assert shown in said.err
    run(["tune", "status", str(path)])
    out = capsys.readouterr().out
    assert "aside" in out
    assert shown in out
    run(["tune", "status", str(path), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["aside"] == 1
    assert run(["tune", "report", str(path), "--launch-prefix", prefix]) == 0
    said = capsys.readouterr()
    assert "set aside" not in said.out + said.err


def test_baselines_that_the_space_does_not_have_are_told_apart_from_its_combinations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    pages = "  server.page_size: [1, 16]\n  server.chunked_prefill_size: [1024, 2048, 4096]\n"
    folder.study(steps=(1, 2, 3, 4), space=pages, more="budget: {launches: 20}\n")
    out = dry(folder, capsys)
    assert "30 combinations of" in out
    assert "30 of them distinct and feasible; besides them" in out
    assert "speculation off and the deployment as it stands" in out


def test_a_plan_counts_the_rounds_that_the_budget_pays_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    pages = "  server.chunked_prefill_size: [1024, 2048, 4096, 8192, 16384]\n"
    folder.study(steps=(1, 2, 3, 4), space=pages, more="budget: {launches: 8}\n")
    out = dry(folder, capsys)
    assert "3 launches chosen by a sampler" in out
    assert "then 1 round of 3 = 3 launches, as the budget pays for no more, with both baselines" in out
    assert "time 6 launches" in out
    assert "together 6 launches" in out


@pytest.mark.parametrize(
    ("launches", "said"),
    [
        (4, "1 round of 4 = 4 launches, as the budget pays for no more each launch"),
        (8, "2 rounds of 4 = 8 launches, as the budget pays for no more, every second round backwards each"),
        (12, "3 rounds of 4 = 12 launches, every second round backwards each launch"),
    ],
)
def test_a_budget_of_fewer_rounds_is_told_in_a_clean_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], launches: int, said: str
) -> None:
    folder = Folder(tmp_path)
    folder.study(steps=(4, 5, 6), more="budget: {launches_each: 3}\n")
    assert said in dry(folder, capsys, "--launches", str(launches))


def test_a_dry_run_of_a_study_that_is_done_says_of_which_launches_its_times_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    folder.study(steps=(4,))
    assert "of the whole study" not in dry(folder, capsys)
    assert run(folder.arguments) == 0
    capsys.readouterr()
    out = dry(folder, capsys)
    assert "0 launches, about 0 s" in out
    assert "time plan of the whole study (4 launches are done)" in out


def test_a_report_keeps_to_the_width_of_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    folder.study(steps=(2, 4))
    assert run(folder.arguments) == 0
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["tune", "report", str(folder.path / "study.yaml")]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
