"""A record belongs to one study file, wherever that is moved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from tests.tune.folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "here").mkdir()
    made = Folder(tmp_path / "here")
    made.study(steps=[4], more="budget: {launches: 4}\n")
    return made


def tune(study: Path, *more: str) -> int:
    return run(["tune", str(study), "--launch-anyway", *more])


def copy_of(folder: Folder, name: str) -> Path:
    """Another study over the same config and prompts."""
    path = folder.path / name
    path.parent.mkdir(exist_ok=True)
    text = (folder.path / "study.yaml").read_text(encoding="utf-8")
    up = "" if path.parent == folder.path else "../"
    text = text.replace("config: ", f"config: {up}").replace("prompts: ", f"prompts: {up}")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "out"), [("other.yaml", True), ("weekly/study.yaml", False)])
def test_another_study_does_not_write_into_a_record_that_is_not_its_own(
    name: str, out: bool, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder.arguments) == 0
    before = folder.events
    other = copy_of(folder, name)
    assert tune(other, *(["--out", str(folder.record)] if out else [])) == 2
    error = capsys.readouterr().err
    assert f"expected the record of {other}, got that of {folder.path / 'study.yaml'}" in error
    assert "give --out another folder" in error
    assert folder.events == before
    assert tune(other, "--out", str(folder.path / "own")) == 0


def test_a_study_file_that_was_renamed_goes_on_with_its_record(folder: Folder) -> None:
    assert run(folder.arguments) == 0
    renamed = (folder.path / "study.yaml").rename(folder.path / "night.yaml")
    assert tune(renamed, "--out", str(folder.record)) == 0
    assert len(folder.finished()) == 4


@pytest.mark.parametrize("moved", [False, True])
def test_a_folder_that_was_copied_or_moved_keeps_its_record(folder: Folder, moved: bool) -> None:
    assert run(folder.arguments) == 0
    there = folder.path.with_name("there")
    (shutil.move if moved else shutil.copytree)(folder.path, there)
    assert tune(there / "study.yaml") == 0
    lines = (there / ".eaglecfg/studies/study/ledger.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert [event["kind"] for event in events].count("session") == 2
    assert [event["kind"] for event in events].count("launch") == 4


def test_a_link_to_the_study_is_the_study(folder: Folder) -> None:
    assert run(folder.arguments) == 0
    link = folder.path / "link.yaml"
    link.symlink_to("study.yaml")
    assert tune(link, "--out", str(folder.record)) == 0
    assert len(folder.finished()) == 4
