"""What an example's patches do to the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eaglecfg.checkpoint.load import read_checkpoint
from eaglecfg.rules.examples import materialize, merge


def test_merge_replaces_removes_and_nulls() -> None:
    base = {"a": {"b": 1, "c": 2}, "d": [1, 2]}
    assert merge(base, {"a": {"b": None, "c": "<null>"}, "d": [3], "e": {"f": 4}}) == {
        "a": {"c": None},
        "d": [3],
        "e": {"f": 4},
    }
    assert base == {"a": {"b": 1, "c": 2}, "d": [1, 2]}


def test_base_pair_is_read_back_whole(tmp_path: Path) -> None:
    materialize({"title": "base"}, tmp_path)
    draft = read_checkpoint(tmp_path, "draft", role="draft")
    target = read_checkpoint(tmp_path, "target", role="target")
    assert not draft.problems
    assert not target.problems
    assert draft.tensors["fc.weight"].shape == (256, 768)
    assert draft.vocabulary.d2t is not None
    assert list(draft.vocabulary.d2t)[:3] == [0, 3, 6]
    assert draft.vocabulary.t2d is not None
    assert sum(draft.vocabulary.t2d) == 256


def test_patches_reach_config_tensors_values_and_yaml(tmp_path: Path) -> None:
    path = materialize(
        {
            "title": "patched",
            "engine": "0.5.12",
            "deployment": {"speculative": "off"},
            "draft": {
                "config": {"head_dim": None, "draft_vocab_size": "<null>"},
                "tensors": {"norm.weight": None, "extra": ["F16", [4]]},
                "values": {"d2t": {"form": "absolute", "patch": {1: 7}}},
                "training": {"version": 1, "boundaries": [3, 6, 9]},
            },
        },
        tmp_path,
    )
    text = path.read_text(encoding="utf-8")
    assert "version: 0.5.12" in text
    assert "speculative: 'off'" in text
    config = json.loads((tmp_path / "draft" / "config.json").read_text(encoding="utf-8"))
    assert "head_dim" not in config
    assert config["draft_vocab_size"] is None
    draft = read_checkpoint(tmp_path, "draft", role="draft")
    assert draft.training == {"version": 1, "boundaries": [3, 6, 9]}
    assert draft.names is not None
    assert "norm.weight" not in draft.names
    assert "extra" in draft.names
    assert draft.vocabulary.d2t is not None
    assert list(draft.vocabulary.d2t)[:3] == [0, 7, 8]


def test_files_come_and_go_last(tmp_path: Path) -> None:
    materialize(
        {
            "title": "files",
            "files": {"draft/notes/a.txt": "x"},
            "remove": ["target/config.json"],
            "truncate": {"draft/config.json": 10},
        },
        tmp_path,
    )
    assert (tmp_path / "draft/notes/a.txt").read_text(encoding="utf-8") == "x"
    assert not (tmp_path / "target/config.json").exists()
    assert (tmp_path / "draft/config.json").stat().st_size == 10


@pytest.mark.parametrize("key", ["study", "study_text"])
def test_a_study_stands_beside_the_config(key: str, tmp_path: Path) -> None:
    materialize({"title": "study", key: {"seed": 3} if key == "study" else "version: 1\n"}, tmp_path)
    text = (tmp_path / "study.yaml").read_text(encoding="utf-8")
    assert ("seed: 3" in text) == (key == "study")
    assert text.startswith("version: 1")
