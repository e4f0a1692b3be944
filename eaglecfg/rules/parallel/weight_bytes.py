"""Bytes of a checkpoint that a server certainly holds, whatever it leaves out, casts or drops."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from pathlib import Path

from eaglecfg.checkpoint.dtypes import BITS
from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact

HALF = ("F16", "BF16")
WIDE = ("F32", "F64")
PACKED = ("weight", "weight_packed", "qweight", "_blocks")
"""Endings of tensors whose numbers of eight bits or fewer, or packed ones, are held as they are stored."""

_OUTER = r"(?:(?:model|language_model|text_model|llm|thinker)\.)*"
_LAYER = re.compile(rf"{_OUTER}layers\.(\d+)\.")
_EMBEDDING = re.compile(rf"{_OUTER}embed_tokens\.weight")


def stored_bytes(facts: CheckpointFacts) -> int | None:
    """Size of the weight files, at least as much as a server holds of them; None where it is not known."""
    files = [name for name in facts.files if name.endswith(".safetensors")]
    if facts.weights != "safetensors" or not files:
        return None
    try:
        return sum((Path(facts.folder) / name).stat().st_size for name in files)
    except (OSError, ValueError):
        return None


def certain_bytes(tensors: Iterable[TensorFact], layers: int, *, quantized: bool) -> int:
    """At least so many bytes of ``tensors`` are held by all ranks together.

    Counted are the decoder's ``layers`` and the embedding: towers, MTP heads and a head that may be tied are
    not. Wide floats may be cast to 16 bits, and 16 bits of a ``quantized`` checkpoint to four.
    """
    total = 0
    for tensor in tensors:
        layer = _LAYER.match(tensor.name)
        inside = (
            int(layer[1]) < layers if layer is not None else _EMBEDDING.fullmatch(tensor.name) is not None
        )
        if inside:
            total += prod(tensor.shape) * _bits(tensor, quantized=quantized) // 8
    return total


def _bits(tensor: TensorFact, *, quantized: bool) -> int:
    if tensor.dtype in (*HALF, *WIDE):
        return 0 if len(tensor.shape) < 2 else 4 if quantized else 16
    return BITS.get(tensor.dtype, 0) if tensor.name.endswith(PACKED) else 0
