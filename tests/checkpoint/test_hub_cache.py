"""Hub ids in a local hub cache: what is found, what is missing, and what no library would have written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.hubid import HubAccess, hub_access, hub_id
from eaglecfg.checkpoint.load import read_checkpoint
from tests.checkpoint.files import CONFIG, entry, kinds, packed

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = packed({"fc.weight": entry("F32", [2, 2], 0, 16)}, 16)


def cache_with(root: Path, files: dict[str, bytes], ref: str = "main") -> Path:
    """A hub cache below ``root`` with one model, ``lab/model``, as the hub's library writes it."""
    repo = root / "cache" / "models--lab--model"
    snapshot, blobs, refs = repo / "snapshots" / COMMIT, repo / "blobs", repo / "refs"
    for folder in (snapshot, blobs, (refs / ref).parent):
        folder.mkdir(parents=True, exist_ok=True)
    for number, (name, content) in enumerate(files.items()):
        (blobs / f"{number:040x}").write_bytes(content)
        (snapshot / name).symlink_to(f"../../blobs/{number:040x}")
    (refs / ref).write_text(COMMIT)
    return repo


def whole(root: Path, ref: str = "main") -> Path:
    return cache_with(root, {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": WEIGHTS}, ref)


def read(root: Path, spelled: str = "lab/model", revision: str | None = None) -> CheckpointFacts:
    access = HubAccess(cache=str(root / "cache"))
    (root / "config").mkdir(exist_ok=True)
    return read_checkpoint(root / "config", spelled, role="draft", revision=revision, hub=lambda: access)


@pytest.mark.parametrize(
    ("ref", "spelled", "revision"),
    [
        ("main", "lab/model", None),
        ("main", "lab/model@main", None),
        ("main", "lab/model", "main"),
        ("v1.0", "lab/model@v1.0", None),
        ("refs/pr/7", "lab/model@refs/pr/7", None),
        ("main", f"lab/model@{COMMIT}", None),
        ("v2", "lab/model@v1", "v2"),
    ],
)
def test_snapshot_is_found(ref: str, spelled: str, revision: str | None, tmp_path: Path) -> None:
    whole(tmp_path, ref)
    facts = read(tmp_path, spelled, revision)
    assert facts.problems == ()
    assert facts.hub is not None
    assert facts.hub.commit == COMMIT
    assert facts.tensors["fc.weight"].file == f"{spelled}/model.safetensors"


def test_a_folder_here_comes_before_the_cache(tmp_path: Path) -> None:
    whole(tmp_path)
    (tmp_path / "config" / "lab" / "model").mkdir(parents=True)
    facts = read(tmp_path)
    assert facts.hub is None
    assert "missing-config" in kinds(facts)


@pytest.mark.parametrize("spelled", ["lab/model@v9", f"lab/model@{COMMIT[::-1]}", "lab/other"])
def test_what_the_cache_lacks_is_not_read(spelled: str, tmp_path: Path) -> None:
    whole(tmp_path)
    facts = read(tmp_path, spelled)
    assert kinds(facts) == ["not-local"]
    problem = facts.problems[0]
    assert problem.incomplete
    assert "the hub cache does not have it" in problem.message
    assert "hf download lab/" in problem.help
    assert "--online" in problem.help


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"config.json": b"{}"}, "weight files"),
        ({"model.safetensors": WEIGHTS}, "config.json"),
        (
            {"config.json": b"{}", "model.safetensors.index.json": b'{"weight_map": {"a": "x.safetensors"}}'},
            "x.safetensors",
        ),
        ({"config.json": b"{}", "model-00001-of-00002.safetensors": WEIGHTS}, "model-00002-of-00002"),
    ],
)
def test_partly_downloaded_is_incomplete_and_no_fault(
    files: dict[str, bytes], missing: str, tmp_path: Path
) -> None:
    cache_with(tmp_path, files)
    facts = read(tmp_path)
    assert kinds(facts) == ["not-local"]
    assert missing in facts.problems[0].message
    assert facts.problems[0].incomplete


def test_a_blob_that_is_gone_is_not_downloaded(tmp_path: Path) -> None:
    repo = whole(tmp_path)
    (repo / "blobs" / f"{1:040x}").unlink()
    facts = read(tmp_path)
    assert kinds(facts) == ["not-local"]
    assert "model.safetensors" in facts.problems[0].message


@pytest.mark.parametrize(
    "content", ["", "main", "../../../etc", COMMIT + "0", COMMIT.upper(), "\0" * 40, "\x1b[2J", "a" * 256]
)
def test_reference_that_is_no_commit(content: str, tmp_path: Path) -> None:
    repo = whole(tmp_path)
    (repo / "refs" / "main").write_text(content)
    facts = read(tmp_path)
    assert kinds(facts) == ["not-local"]
    assert "not a commit" in facts.problems[0].message
    assert facts.problems[0].message.isprintable()


def test_reference_that_is_no_small_file(tmp_path: Path) -> None:
    repo = whole(tmp_path)
    (repo / "refs" / "main").write_bytes(b"0" * 100_000)
    assert kinds(read(tmp_path)) == ["not-supported"]
    (repo / "refs" / "main").unlink()
    (repo / "refs" / "main").mkdir()
    assert kinds(read(tmp_path)) == ["not-a-file"]
    (repo / "refs" / "main").rmdir()
    os.mkfifo(repo / "refs" / "main")
    assert kinds(read(tmp_path)) == ["not-a-file"]


@pytest.mark.parametrize(
    "revision",
    ["../x", "a/../../x", "/etc", "a//b", "a/./b", "..", "a\0b", "-rf", "a b", "é", "x" * 300, "\n"],
)
def test_revision_that_is_a_way_out(revision: str, tmp_path: Path) -> None:
    whole(tmp_path)
    facts = read(tmp_path, revision=revision)
    assert kinds(facts) == ["not-local"]
    assert "not the name of a branch" in facts.problems[0].message
    assert facts.problems[0].message.isprintable()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "eaglecfg-training.json", "other.txt"])
@pytest.mark.parametrize("kind", ["file", "device", "dots", "other model"])
def test_link_that_leads_out_of_the_model_is_refused(name: str, kind: str, tmp_path: Path) -> None:
    repo = whole(tmp_path)
    secret = tmp_path / "secret.json"
    secret.write_text('{"secret": 1}')
    other = repo.parent / "models--lab--other"
    other.mkdir()
    (other / "file").write_text("{}")
    link = repo / "snapshots" / COMMIT / name
    link.unlink(missing_ok=True)
    aims = {"file": str(secret), "device": "/dev/zero", "dots": "../../../../secret.json"}
    link.symlink_to(aims.get(kind, str(other / "file")))
    facts = read(tmp_path)
    assert kinds(facts) == ["hub-link"]
    assert facts.config is None
    assert facts.names is None


@pytest.mark.parametrize("part", ["refs/main", f"snapshots/{COMMIT}", "blobs"])
def test_folder_that_leads_out_of_the_model_is_refused(part: str, tmp_path: Path) -> None:
    repo = whole(tmp_path)
    moved = tmp_path / "moved"
    (repo / part).rename(moved)
    (repo / part).symlink_to(moved)
    assert kinds(read(tmp_path)) == ["hub-link"]


def test_link_of_the_whole_model_is_followed(tmp_path: Path) -> None:
    """Large caches are moved to other disks by linking the model's folder."""
    repo = whole(tmp_path)
    repo.rename(tmp_path / "moved")
    repo.symlink_to(tmp_path / "moved")
    assert read(tmp_path).problems == ()


def test_loops_pipes_and_sockets_end_in_problems(tmp_path: Path) -> None:
    repo = whole(tmp_path)
    snapshot = repo / "snapshots" / COMMIT
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").symlink_to("config.json")
    (snapshot / "model.safetensors").unlink()
    os.mkfifo(snapshot / "model.safetensors")
    os.mkfifo(repo / "blobs" / "pipe")
    (snapshot / "tokenizer_config.json").symlink_to("../../blobs/pipe")
    assert sorted(kinds(read(tmp_path))) == ["not-a-file", "not-a-file", "unreadable"]


@pytest.mark.parametrize(
    "spelled",
    [
        "a--b/c",
        "a..b/c",
        "a/b/c",
        "/a/b",
        "./a",
        "a/b@",
        "a/.b",
        "a/b-",
        "é/b",
        "a/" + "b" * 97,
        "a/b\n",
        "a",
    ],
)
def test_what_is_no_hub_id(spelled: str) -> None:
    assert hub_id(spelled) is None


@pytest.mark.parametrize(
    ("environment", "cache"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b", "HOME": "/h"}, "/a"),
        ({"HUGGINGFACE_HUB_CACHE": "/a", "HOME": "/h"}, "/a"),
        ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/b/hub"),
        ({"HF_HOME": "~/b", "HOME": "/h"}, "/h/b/hub"),
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/huggingface/hub"),
        ({"HOME": "/h"}, "/h/.cache/huggingface/hub"),
        ({}, ""),
    ],
)
def test_place_of_the_cache(environment: dict[str, str], cache: str) -> None:
    assert hub_access(environment).cache == cache
