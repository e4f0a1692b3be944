"""Writes checkpoint folders whose weights are holes: true to the format, next to nothing on disk."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from eaglecfg.checkpoint.dtypes import BITS, INTEGER_CODES
from eaglecfg.checkpoint.index import SAFETENSORS_INDEX

Tensors = Mapping[str, tuple[str, Sequence[int]]]


def write_checkpoint(
    folder: Path,
    config: Mapping[str, Any],
    tensors: Tensors,
    values: Mapping[str, Sequence[int] | bytes] = {},
    shards: int = 1,
) -> None:
    """Write config.json and safetensors files with ``tensors`` (name to dtype and shape) into ``folder``.

    ``values`` fills tensors of a whole-number dtype (numbers) or any dtype (raw bytes); all others are holes
    of a sparse file and read as zeros. ``shards`` above 1 splits the tensors, in order, over that many files
    and writes the index. Without tensors only config.json is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(
        json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    if not tensors:
        return
    if shards <= 1:
        write_safetensors(folder / "model.safetensors", tensors, values)
        return
    names = list(tensors)
    per_file = -(-len(names) // shards)
    weight_map: dict[str, str] = {}
    for number in range(shards):
        mine = names[number * per_file : (number + 1) * per_file]
        file = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        write_safetensors(folder / file, {name: tensors[name] for name in mine}, values)
        weight_map |= dict.fromkeys(mine, file)
    total = sum(size_of(dtype, shape) for dtype, shape in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / SAFETENSORS_INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def write_safetensors(path: Path, tensors: Tensors, values: Mapping[str, Sequence[int] | bytes] = {}) -> None:
    """Write one sparse safetensors file; the header is padded so that the data begin at a multiple of 8."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape) in tensors.items():
        end = at + size_of(dtype, shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        start = stream.tell()
        for name in tensors.keys() & values.keys():
            stream.seek(start + header[name]["data_offsets"][0])
            stream.write(_encoded(name, tensors[name][0], tensors[name][1], values[name]))
        stream.truncate(start + at)


def size_of(dtype: str, shape: Sequence[int]) -> int:
    """Bytes that a tensor takes."""
    return prod(shape) * BITS[dtype] // 8


def _encoded(name: str, dtype: str, shape: Sequence[int], values: Sequence[int] | bytes) -> bytes:
    data = (
        values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{INTEGER_CODES[dtype]}", *values)
    )
    if len(data) != size_of(dtype, shape):
        raise ValueError(f"{name} takes {size_of(dtype, shape)} bytes, its values have {len(data)}")
    return data
