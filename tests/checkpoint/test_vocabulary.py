"""Values of d2t and t2d."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.checkpoint.limits import MAX_MAP_ENTRIES
from eaglecfg.checkpoint.sketch import write_checkpoint
from tests.checkpoint.files import CONFIG, kinds, read


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("I64", [0, -5, 2**62]),
        ("I32", [0, -5, 2**30]),
        ("I16", [0, -5, 30000]),
        ("I8", [0, -5, 100]),
        ("U8", [0, 5, 255]),
        ("U32", [0, 5, 2**32 - 1]),
        ("U64", [0, 5, 2**64 - 1]),
    ],
)
def test_whole_number_dtypes(dtype: str, values: list[int], tmp_path: Path) -> None:
    tensors = {"pad": ("U8", [3]), "d2t": (dtype, [3])}
    write_checkpoint(tmp_path / "model", CONFIG, tensors, {"d2t": values})
    assert read(tmp_path).vocabulary.d2t == tuple(values)


@pytest.mark.parametrize("dtype", ["BOOL", "U8", "I64"])
def test_marks_become_one_byte_per_token(dtype: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, {"t2d": (dtype, [4])}, {"t2d": [1, 0, 0, 1]})
    assert read(tmp_path).vocabulary.t2d == b"\1\0\0\1"


def test_prefixed_names_are_maps_too(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, {"model.d2t": ("I64", [2])}, {"model.d2t": [3, 4]})
    assert read(tmp_path).vocabulary.d2t == (3, 4)


def test_target_values_are_not_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, {"d2t": ("I64", [2])}, {"d2t": [3, 4]})
    assert read(tmp_path, target=True).vocabulary.d2t is None


def test_float_map_is_not_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, {"d2t": ("F32", [2])})
    facts = read(tmp_path)
    assert kinds(facts) == ["not-supported"]
    assert "d2t as F32 [2]" in facts.problems[0].message
    assert facts.vocabulary.d2t is None
    assert facts.tensors["d2t"].dtype == "F32"


def test_map_of_absurd_length_is_not_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, {"d2t": ("I64", [MAX_MAP_ENTRIES + 1])})
    assert kinds(read(tmp_path)) == ["not-supported"]


def test_map_in_a_file_that_ends_early(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, {"d2t": ("I64", [100])})
    path = tmp_path / "model" / "model.safetensors"
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size - 8)
    facts = read(tmp_path)
    assert kinds(facts) == ["truncated"]
    assert facts.vocabulary.d2t is None
    assert facts.tensors["d2t"].shape == (100,)
