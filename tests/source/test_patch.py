"""Patches as ``git apply`` and ``patch`` take them, whatever a file is called and wherever it lies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from eaglecfg.source.patch import patch_names, patch_of

BEFORE, AFTER = "a: 1\nb: 2\n", "a: 1\nb: 3\n"
NAMES = [
    "e.yaml",
    "a b.yaml",
    'q"t.yaml',
    "back\\slash.yaml",
    "ü 模型.yaml",
    "tab\tx.yaml",
    "-x.yaml",
    "c/d e/f.yaml",
]
GIT = ["git", "apply", "--whitespace=nowarn"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(BEFORE, encoding="utf-8")
    return path


def take(tool: list[str], patch: str, folder: Path) -> int:
    return subprocess.run(tool, input=patch.encode(), capture_output=True, check=False, cwd=folder).returncode


@pytest.mark.parametrize("tool", [GIT, ["patch", "-p1", "--quiet"]], ids=["git", "patch"])
@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_file_here_is_called(here: Path, name: str, tool: list[str]) -> None:
    path = put(here / name)
    for given in (name, str(path), f"../here/{name}"):
        named = patch_names([given])
        assert (named.names, named.git, named.loose) == ((name,), False, False)
    assert take(tool, patch_of(BEFORE, AFTER, name), here) == 0
    assert path.read_text(encoding="utf-8") == AFTER


@pytest.mark.parametrize("name", NAMES)
def test_a_file_above_is_named_from_the_root_of_the_work_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A file of the same name in the folder that we are in is another one."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    above, below = put(tmp_path / name), put(tmp_path / "sub" / name)
    monkeypatch.chdir(tmp_path / "sub")
    for given in (f"../{name}", str(above)):
        named = patch_names([given])
        assert (named.base, named.names, named.git) == (tmp_path, (name,), True)
    patch = patch_of(BEFORE, AFTER, name, git=True)
    take(GIT, patch, tmp_path / "sub")
    assert below.read_text(encoding="utf-8") == BEFORE
    assert take(GIT, patch, tmp_path) == 0
    assert (above.read_text(encoding="utf-8"), below.read_text(encoding="utf-8")) == (AFTER, BEFORE)


def test_files_here_and_above_have_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    files = [put(tmp_path / "e.yaml"), put(tmp_path / "sub" / "e.yaml"), put(tmp_path / "other" / "e.yaml")]
    monkeypatch.chdir(tmp_path / "sub")
    named = patch_names(["../e.yaml", "e.yaml", str(files[2])])
    assert named.names == ("e.yaml", "sub/e.yaml", "other/e.yaml")
    patch = "".join(patch_of(BEFORE, AFTER, name, git=named.git) for name in named.names)
    assert take(GIT, patch, tmp_path) == 0
    assert [path.read_text(encoding="utf-8") for path in files] == [AFTER] * 3


@pytest.mark.parametrize("tool", [GIT, ["patch", "-p1", "--quiet", "--force"]], ids=["git", "patch"])
def test_without_a_work_tree_a_file_above_is_refused_and_not_taken_for_another(
    here: Path, tool: list[str]
) -> None:
    put(here.parent / "e.yaml")
    other = put(here / "e.yaml")
    named = patch_names(["../e.yaml"])
    assert (named.names, named.git, named.loose) == (("../e.yaml",), False, True)
    assert take(tool, patch_of(BEFORE, AFTER, named.names[0]), here) != 0
    assert other.read_text(encoding="utf-8") == BEFORE


def test_links_are_followed(here: Path) -> None:
    put(here / "real.yaml")
    (here / "link.yaml").symlink_to("real.yaml")
    assert patch_names(["link.yaml"]).names == ("real.yaml",)


def test_no_files_have_no_names(here: Path) -> None:
    assert patch_names([]).names == ()
    assert patch_of(BEFORE, BEFORE, "e.yaml", git=True) == ""
