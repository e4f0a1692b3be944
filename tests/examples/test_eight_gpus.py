"""The studies of shapes without weights: nothing is wrong with them, and they plan what their pages say."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

import eaglecfg
from eaglecfg.cli.main import run

ROOT = Path(eaglecfg.__file__).parents[1]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the studies and of both shapes, with their files."""
    here = tmp_path_factory.mktemp("shapes")
    shutil.copytree(ROOT / "studies", here / "studies", ignore=shutil.ignore_patterns("results", ".eaglecfg"))
    for name in ("deepseek-v3", "llama-8b"):
        folder = here / "examples" / name
        folder.mkdir(parents=True)
        shutil.copy(ROOT / "examples" / name / "shape.yaml", folder)
        runpy.run_path(str(ROOT / "examples" / name / "make_files.py"))["main"](folder)
    return here


@pytest.mark.parametrize("file", ["examples/deepseek-v3/shape.yaml", "examples/llama-8b/shape.yaml"])
def test_a_shape_has_no_finding(place: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(place / file)]) == 0
    assert "\n0 errors · 0 warnings · 0 info" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "profile", "launches"),
    [
        ("nccl-step-cost-8b", "3 rounds of 8 = 24 launches", 24),
        ("step-cost-8b", "3 rounds of 4 = 12 launches", 12),
        ("tp2-rehearsal", "1 round of 4 = 4 launches", 4),
        ("tp8-first", "2 rounds of 4 = 8 launches", 8),
        ("tp8-nccl", "3 rounds of 12 = 36 launches", 36),
        ("tp8-step-cost", "every setting once", 124),
    ],
)
def test_a_study_has_no_finding_and_plans_its_launches(
    place: Path, name: str, profile: str, launches: int, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(place / "studies" / f"{name}.yaml")
    assert run(["validate", study]) == 0
    assert "\n0 errors · 0 warnings · 0 info" in capsys.readouterr().out
    assert run(["tune", study, "--dry-run", "--out", str(place / "out")]) == 0
    plan = capsys.readouterr().out
    assert profile in plan
    assert re.search(rf"^time +{launches} launches\b", plan, re.MULTILINE)
    filling = name != "tp8-first"
    assert (re.search(r"^first +one launch of ", plan, re.MULTILINE) is not None) is filling
    assert re.search(rf"^  together +{launches + filling} launches", plan, re.MULTILINE)


def test_nothing_of_nccl_is_launched_where_the_engine_sums_itself(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(["tune", str(place / "studies" / "tp8-step-cost.yaml"), "--dry-run", "--out", str(place / "out")])
        == 0
    )
    commands = [row for row in capsys.readouterr().out.splitlines() if " sglang.launch_server " in row]
    own = [row for row in commands if "--disable-custom-all-reduce" not in row]
    assert (len(commands), len(own)) == (77, 7)
    assert not any("NCCL_" in row for row in own)
    assert all("--load-format dummy" in row and "--tp-size 8" in row for row in commands)
