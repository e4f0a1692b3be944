"""Folders that are not there, not folders, not readable, or made of links."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from eaglecfg.checkpoint.load import read_checkpoint
from eaglecfg.checkpoint.sketch import write_checkpoint
from tests.checkpoint.files import CONFIG, entry, folder_with, kinds, packed, read

ONE = packed({"a": entry("U8", [1], 0, 1)}, 1)


@pytest.mark.parametrize(
    ("spelled", "kind", "text"),
    [
        ("org/model", "not-local", "hub id"),
        ("s3://bucket/model", "not-local", "address"),
        ("./nowhere", "missing-folder", "there is no folder ./nowhere"),
        ("/nowhere/at/all", "missing-folder", "no folder"),
        ("~/model", "missing-folder", "not expanded"),
        ("", "missing-folder", "empty"),
        ("a\0b", "missing-folder", "no folder"),
        ("x" * 5000, "missing-folder", "no folder"),
        ("note.txt", "not-a-folder", "is a file"),
        ("model.gguf", "not-supported", "GGUF"),
        ("models/absent", "missing-folder", "no folder models/absent"),
    ],
)
def test_name_that_leads_nowhere(spelled: str, kind: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("")
    (tmp_path / "model.gguf").write_text("")
    (tmp_path / "models").mkdir()
    facts = read_checkpoint(tmp_path, spelled, role="target")
    assert kinds(facts) == [kind]
    assert text in f"{facts.problems[0].message} {facts.problems[0].help}"
    assert facts.problems[0].incomplete
    assert facts.config is None
    assert facts.names is None


def test_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    assert kinds(read(tmp_path)) == ["missing-config", "no-weights"]


def test_folder_of_other_formats_is_said(tmp_path: Path) -> None:
    folder_with(tmp_path, {"model-q4.gguf": b"GGUF"})
    problem = read(tmp_path).problems[0]
    assert problem.kind == "no-weights"
    assert "model-q4.gguf" in problem.message


def test_mistral_params_are_not_read(tmp_path: Path) -> None:
    model = folder_with(tmp_path, {"params.json": b"{}", "model.safetensors": ONE})
    (model / "config.json").unlink()
    assert kinds(read(tmp_path)) == ["not-supported"]


def test_absolute_path_and_final_slash(tmp_path: Path) -> None:
    model = folder_with(tmp_path, {"model.safetensors": ONE})
    facts = read_checkpoint(Path("/"), f"{model}/", role="draft")
    assert facts.problems == ()
    assert facts.shown == str(model)
    assert facts.tensors["a"].file == f"{model}/model.safetensors"


def test_hub_cache_of_symlinks_is_read(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "0123"
    write_checkpoint(tmp_path / "plain", CONFIG, {"a": ("F32", [2])})
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        shutil.move(tmp_path / "plain" / name, blobs / name)
        (snapshot / name).symlink_to(f"../../blobs/{name}")
    facts = read_checkpoint(tmp_path, "snapshots/0123", role="draft")
    assert facts.problems == ()
    assert facts.tensors["a"].shape == (2,)


def test_symlink_into_nothing_is_said(tmp_path: Path) -> None:
    model = folder_with(tmp_path, {})
    (model / "model.safetensors").symlink_to("../blobs/gone")
    facts = read(tmp_path)
    assert kinds(facts) == ["missing-file"]
    assert "symlink to ../blobs/gone" in facts.problems[0].message


def test_symlink_loop_is_said(tmp_path: Path) -> None:
    model = folder_with(tmp_path, {})
    (model / "model.safetensors").symlink_to("model.safetensors")
    assert kinds(read(tmp_path)) == ["unreadable"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "generation_config.json"])
def test_pipe_does_not_block(name: str, tmp_path: Path) -> None:
    model = folder_with(tmp_path, {"model.safetensors": ONE})
    (model / name).unlink(missing_ok=True)
    os.mkfifo(model / name)
    assert kinds(read(tmp_path)) == ["not-a-file"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_folder_in_place_of_a_file(name: str, tmp_path: Path) -> None:
    model = folder_with(tmp_path, {"model.safetensors": ONE})
    (model / name).unlink()
    (model / name).mkdir()
    assert kinds(read(tmp_path)) == ["not-a-file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(tmp_path: Path) -> None:
    model = folder_with(tmp_path, {"model.safetensors": ONE})
    (model / "model.safetensors").chmod(0)
    (model / "config.json").chmod(0)
    facts = read(tmp_path)
    assert kinds(facts) == ["unreadable", "unreadable"]
    assert all(problem.incomplete for problem in facts.problems)


def test_lfs_pointer_in_place_of_the_config(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    folder_with(tmp_path, {"config.json": pointer, "model.safetensors": ONE})
    facts = read(tmp_path)
    assert kinds(facts) == ["lfs-pointer"]
    assert facts.config is None
