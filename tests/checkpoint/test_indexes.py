"""The index, the files it names, and the files beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.checkpoint.sketch import write_checkpoint, write_safetensors
from tests.checkpoint.files import CONFIG, kinds, read

TENSORS: dict[str, tuple[str, list[int]]] = {
    "model.embed_tokens.weight": ("BF16", [16, 8]),
    "model.layers.0.input_layernorm.weight": ("BF16", [8]),
    "model.layers.0.mlp.up_proj.weight": ("BF16", [32, 8]),
    "model.layers.1.input_layernorm.weight": ("BF16", [8]),
    "model.layers.1.mlp.up_proj.weight": ("BF16", [32, 8]),
    "model.layers.1.mlp.down_proj.weight": ("BF16", [8, 32]),
    "model.norm.weight": ("BF16", [8]),
    "lm_head.weight": ("BF16", [16, 8]),
}
INDEX = "model.safetensors.index.json"
SECOND, LAST = "model-00002-of-00004.safetensors", "model-00004-of-00004.safetensors"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Four files of two tensors each, with their index."""
    write_checkpoint(tmp_path / "model", CONFIG, TENSORS, shards=4)
    return tmp_path / "model"


def change(model: Path, **changes: Any) -> None:
    """Lay ``changes`` over the index; in weight_map null removes."""
    index = json.loads((model / INDEX).read_text())
    for key, value in changes.items():
        index[key] = {**(index[key] or {}), **value} if isinstance(value, dict) else value
    index["weight_map"] = {k: v for k, v in index["weight_map"].items() if v is not None}
    (model / INDEX).write_text(json.dumps(index))


def test_all_in_agreement(model: Path, tmp_path: Path) -> None:
    for target, deep in ((False, False), (True, False), (True, True)):
        facts = read(tmp_path, target=target, deep=deep)
        assert facts.problems == ()
        assert facts.names == frozenset(TENSORS)


def test_target_opens_only_files_with_wanted_tensors(model: Path, tmp_path: Path) -> None:
    """The third file holds nothing that a rule looks at; its tensors are known by name alone."""
    facts = read(tmp_path, target=True)
    assert set(TENSORS) - set(facts.tensors) == {
        "model.layers.1.mlp.up_proj.weight",
        "model.layers.1.mlp.down_proj.weight",
    }
    assert set(read(tmp_path, target=True, deep=True).tensors) == set(TENSORS)
    assert set(read(tmp_path).tensors) == set(TENSORS)


def test_file_cut_off_is_found_without_deep(model: Path, tmp_path: Path) -> None:
    """The files are smaller than total_size, so all are opened to tell which one is cut off."""
    with (model / "model-00003-of-00004.safetensors").open("r+b") as stream:
        stream.truncate(200)
    assert kinds(read(tmp_path, target=True)) == ["truncated"]


def test_broken_file_that_is_not_opened_waits_for_deep(model: Path, tmp_path: Path) -> None:
    with (model / "model-00003-of-00004.safetensors").open("r+b") as stream:
        stream.seek(8)
        stream.write(b"[")
    assert kinds(read(tmp_path, target=True)) == []
    assert kinds(read(tmp_path, target=True, deep=True)) == ["malformed"]


@pytest.mark.parametrize("target", [False, True])
def test_missing_file(target: bool, model: Path, tmp_path: Path) -> None:
    (model / SECOND).unlink()
    facts = read(tmp_path, target=target)
    assert kinds(facts) == ["missing-shard"]
    assert "puts 2 tensors into model-00002-of-00004.safetensors" in facts.problems[0].message
    assert facts.names == frozenset(TENSORS)
    assert "model.layers.0.mlp.up_proj.weight" not in facts.tensors


def test_empty_file_that_is_not_opened(model: Path, tmp_path: Path) -> None:
    (model / "model-00003-of-00004.safetensors").write_bytes(b"")
    assert kinds(read(tmp_path, target=True)) == ["truncated"]


def test_tensor_mapped_to_another_file(model: Path, tmp_path: Path) -> None:
    change(model, weight_map={"lm_head.weight": SECOND})
    facts = read(tmp_path)
    assert kinds(facts) == ["index-names-absent", "index-lacks"]
    assert "lm_head.weight" in facts.problems[0].message
    assert SECOND in facts.problems[0].message


def test_tensor_that_no_file_holds(model: Path, tmp_path: Path) -> None:
    change(model, weight_map={"ghost.weight": LAST})
    facts = read(tmp_path)
    assert kinds(facts) == ["index-names-absent"]
    assert facts.names is not None
    assert "ghost.weight" not in facts.names


def test_tensor_that_the_index_does_not_name(model: Path, tmp_path: Path) -> None:
    change(model, weight_map={"lm_head.weight": None})
    facts = read(tmp_path)
    assert kinds(facts) == ["index-lacks"]
    assert "lm_head.weight" in facts.tensors


@pytest.mark.parametrize(
    "name", ["../model/x.safetensors", "/etc/passwd", "a\\b", "..", "", "C:x", "sub/x", "x\0"]
)
def test_file_name_that_leaves_the_folder(name: str, model: Path, tmp_path: Path) -> None:
    change(model, weight_map={"lm_head.weight": name})
    facts = read(tmp_path)
    assert kinds(facts)[0] == "unsafe-path"
    assert facts.problems[0].incomplete
    assert facts.problems[0].message.isprintable()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is not JSON"),
        ("[]", "a list"),
        ("{}", "no weight_map"),
        ('{"weight_map": []}', "no weight_map"),
        ('{"weight_map": {}}', "empty weight_map"),
        ('{"weight_map": {"a": 1}}', "maps a to a number"),
        ('{"weight_map": {"a": null}}', "maps a to null"),
        ('{"weight_map": {"\\ud800": "x"}}', "half of a character"),
        ('{"weight_map": {"a": "x"}', "is not JSON"),
    ],
)
def test_index_that_is_none(text: str, part: str, model: Path, tmp_path: Path) -> None:
    (model / INDEX).write_text(text)
    facts = read(tmp_path)
    assert kinds(facts) == ["index-malformed"]
    assert INDEX in facts.problems[0].message
    assert part in facts.problems[0].message
    assert set(facts.tensors) == set(TENSORS)


def test_name_twice_in_the_index(model: Path, tmp_path: Path) -> None:
    text = (model / INDEX).read_text()
    (model / INDEX).write_text(
        text.replace('"weight_map": {', f'"weight_map": {{"lm_head.weight": "{SECOND}",')
    )
    facts = read(tmp_path)
    assert kinds(facts) == ["duplicate-tensor"]
    assert SECOND in facts.problems[0].message
    assert LAST in facts.problems[0].message


@pytest.mark.parametrize("size", [12, 10**12])
def test_total_size_of_other_weights(size: int, model: Path, tmp_path: Path) -> None:
    change(model, metadata={"total_size": size})
    facts = read(tmp_path)
    assert kinds(facts) == ["total-size"]
    assert f"{size:,}" in facts.problems[0].message


def test_total_size_may_be_absent_or_odd(model: Path, tmp_path: Path) -> None:
    odd: list[Any] = [None, {"total_size": 1.5}, {"total_size": "many"}, []]
    for metadata in odd:
        change(model, metadata=metadata)
        assert read(tmp_path).problems == ()


def test_single_file_beside_the_index(model: Path, tmp_path: Path) -> None:
    write_safetensors(model / "model.safetensors", {"other": ("F32", [1])})
    facts = read(tmp_path)
    assert kinds(facts) == ["both-layouts"]
    assert "other" not in facts.tensors


def test_file_that_the_index_does_not_name(model: Path, tmp_path: Path) -> None:
    write_safetensors(model / "consolidated.safetensors", {"other": ("F32", [1])})
    facts = read(tmp_path)
    assert kinds(facts) == ["stray-file"]
    assert "other" not in facts.tensors


def test_numbers_with_a_gap_and_no_index(model: Path, tmp_path: Path) -> None:
    (model / INDEX).unlink()
    assert read(tmp_path).problems == ()
    (model / SECOND).unlink()
    facts = read(tmp_path)
    assert kinds(facts) == ["missing-number"]
    assert SECOND in facts.problems[0].message


def test_numbers_with_a_gap_that_the_index_knows(model: Path, tmp_path: Path) -> None:
    (model / LAST).unlink()
    change(model, weight_map={"lm_head.weight": None, "model.norm.weight": None}, metadata=None)
    assert kinds(read(tmp_path)) == ["odd-numbering"]


def test_several_files_without_an_index(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, TENSORS)
    write_safetensors(tmp_path / "model" / "adapter.safetensors", {"lm_head.weight": ("F32", [1])})
    facts = read(tmp_path)
    assert kinds(facts) == ["duplicate-tensor", "unindexed-files"]
    assert "lm_head.weight is both in" in facts.problems[0].message


def test_second_copy_of_mistral_is_passed_over(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, TENSORS)
    write_safetensors(tmp_path / "model" / "consolidated.safetensors", TENSORS)
    assert read(tmp_path).problems == ()


def test_pickles_beside_safetensors(model: Path, tmp_path: Path) -> None:
    (model / "pytorch_model.bin").write_bytes(b"not looked at")
    (model / "training_args.bin").write_bytes(b"no weights")
    facts = read(tmp_path)
    assert kinds(facts) == ["both-formats"]
    assert facts.weights == "safetensors"
    assert "training_args" not in facts.problems[0].help


def test_many_files_are_read_side_by_side(tmp_path: Path) -> None:
    tensors = {f"model.layers.{i}.w": ("F32", [4]) for i in range(80)}
    write_checkpoint(tmp_path / "model", CONFIG, tensors, shards=80)
    (tmp_path / "model" / "model-00007-of-00080.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{]")
    facts = read(tmp_path)
    assert kinds(facts) == ["malformed"]
    assert set(tensors) - set(facts.tensors) == {"model.layers.6.w"}
