"""Sketched checkpoints are real ones to other readers, and take no space."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from eaglecfg.checkpoint.dtypes import BITS
from eaglecfg.checkpoint.sketch import size_of, write_checkpoint
from tests.checkpoint.files import CONFIG, read

TENSORS = {"fc.weight": ("BF16", [8, 24]), "d2t": ("I64", [4]), "t2d": ("BOOL", [9]), "raw": ("F32", [2])}


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_library_reads_names_shapes_and_values(shards: int, tmp_path: Path) -> None:
    values: dict[str, list[int] | bytes] = {
        "d2t": [0, -3, 7, 2**40],
        "t2d": [1, 0, 1, 0, 0, 1, 0, 1, 1],
        "raw": b"\0\0\x80\x3f\0\0\0\x40",
    }
    write_checkpoint(tmp_path / "model", CONFIG, TENSORS, values, shards=shards)
    found: dict[str, torch.Tensor] = {}
    for path in (tmp_path / "model").glob("*.safetensors"):
        with safe_open(path, "pt") as stream:
            found |= {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    assert {name: list(tensor.shape) for name, tensor in found.items()} == {
        n: s for n, (_, s) in TENSORS.items()
    }
    assert found["fc.weight"].dtype == torch.bfloat16
    assert not found["fc.weight"].any()
    assert found["d2t"].tolist() == [0, -3, 7, 2**40]
    assert found["t2d"].tolist() == [True, False, True, False, False, True, False, True, True]
    assert found["raw"].tolist() == [1.0, 2.0]
    facts = read(tmp_path)
    assert facts.problems == ()
    assert facts.vocabulary.d2t == (0, -3, 7, 2**40)
    assert facts.vocabulary.t2d == b"\1\0\1\0\0\1\0\1\1"


def test_terabyte_takes_no_space(tmp_path: Path) -> None:
    write_checkpoint(
        tmp_path / "model", CONFIG, {f"w{i}": ("BF16", [2**19, 2**19]) for i in range(4)}, shards=2
    )
    stats = [path.stat() for path in (tmp_path / "model").glob("*.safetensors")]
    assert sum(one.st_size for one in stats) > 2 * 10**12
    assert sum(one.st_blocks * 512 for one in stats) < 100_000
    assert read(tmp_path).problems == ()


@pytest.mark.parametrize("dtype", sorted(BITS))
def test_every_dtype_is_taken_by_the_library(dtype: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", CONFIG, {"w": (dtype, [8, 3])})
    with safe_open(tmp_path / "model" / "model.safetensors", "pt") as stream:
        part = stream.get_slice("w")
        assert part.get_shape() == [8, 3]
        assert part.get_dtype() == dtype
    assert str(read(tmp_path).tensors["w"]) == f"{dtype} [8, 3]"


def test_config_alone(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model", {"é": 1}, {})
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["config.json"]
    assert json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8")) == {"é": 1}


def test_values_of_the_wrong_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="d2t takes 32 bytes, its values have 8"):
        write_checkpoint(tmp_path / "model", CONFIG, TENSORS, {"d2t": [1]})


def test_sizes() -> None:
    assert size_of("F4", [3, 2]) == 3
    assert size_of("BF16", []) == 2
    assert size_of("F32", [0, 5]) == 0
