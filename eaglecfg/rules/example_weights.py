"""Weights for the small draft of an example: noise as training leaves it, and what is spoiled of it."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "model.safetensors"
HIGH = bytes((0xBB, 0xBC, 0x3B, 0x3C)[byte & 3] for byte in range(256))
"""Random bytes to the high bytes of BF16 values of either sign, between 0.002 and 0.03."""


def fill_weights(folder: Path, spoiled: Mapping[str, Any]) -> None:
    """Write values into the BF16 tensors of ``folder``; recipes are those of ``weights`` in an example."""
    path = folder / FILE
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    noise = random.Random(818)
    data: dict[str, bytearray] = {}
    for name, entry in header.items():
        if entry.get("dtype") == "BF16":
            begin, end = entry["data_offsets"]
            data[name] = bytearray(noise.randbytes(end - begin))
            data[name][1::2] = noise.randbytes((end - begin) // 2).translate(HIGH)
    for name, recipe in spoiled.items():
        if "same_as" in recipe:
            data[name][:] = data[recipe["same_as"]]
        else:
            _spoil(data[name], header[name]["shape"], recipe)
    with path.open("r+b") as stream:
        for name, values in data.items():
            stream.seek(8 + length + header[name]["data_offsets"][0])
            stream.write(values)


def _spoil(data: bytearray, shape: list[int], recipe: Mapping[str, Any]) -> None:
    """Put one number in place of all values, or of those that ``recipe`` names."""
    value = struct.pack("<f", float(recipe["fill"]))[2:]
    width, count = shape[-1], len(data) // 2
    first, last = recipe.get("values", (0, count - 1))
    if "rows" in recipe:
        first, last = recipe["rows"][0] * width, (recipe["rows"][1] + 1) * width - 1
    if "columns" not in recipe:
        data[2 * first : 2 * last + 2] = value * (last - first + 1)
        return
    left, right = recipe["columns"]
    for row in range(0, count, width):
        data[2 * (row + left) : 2 * (row + right + 1)] = value * (right - left + 1)
