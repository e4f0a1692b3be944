"""Values of ``d2t`` and ``t2d``, read by byte range: the only values that every check looks at."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from math import prod
from typing import NamedTuple

from eaglecfg.checkpoint.dtypes import BITS, INTEGER_CODES
from eaglecfg.checkpoint.facts import FileProblem, VocabularyMap
from eaglecfg.checkpoint.fault import FileFault, legible
from eaglecfg.checkpoint.limits import MAX_MAP_ENTRIES
from eaglecfg.checkpoint.regular import opened, read_range


class Stored(NamedTuple):
    """Where the elements of a contiguous tensor lie: first byte in ``path``, dtype and shape in elements."""

    path: str
    shown: str
    start: int
    dtype: str
    shape: tuple[int, ...]


def is_map(name: str) -> bool:
    """Whether a tensor of this name holds draft ids to target ids, or the reverse."""
    return name.rpartition(".")[2] in ("d2t", "t2d")


def read_vocabulary(
    find: Callable[[str], Stored | None], names: Mapping[str, str]
) -> tuple[VocabularyMap, list[FileProblem]]:
    """The values of both maps. ``names``: ``d2t`` and ``t2d``, where there are such, to full tensor name."""
    problems: list[FileProblem] = []
    values: dict[str, list[int]] = {}
    for short, name in names.items():
        stored = find(name)
        if stored is None:
            continue
        try:
            read = _read(stored, name)
        except FileFault as fault:
            problems.append(fault.problem)
            continue
        if read is not None:
            values[short] = list(read)
    d2t, t2d = values.get("d2t"), values.get("t2d")
    marks = None if t2d is None else bytes(value != 0 for value in t2d)
    return VocabularyMap(None if d2t is None else tuple(d2t), marks), problems


def _read(stored: Stored, name: str) -> tuple[int, ...] | None:
    """The elements as stored, little-endian; None where the file ends first, as its header check told."""
    count, code = prod(stored.shape), INTEGER_CODES.get(stored.dtype)

    def refuse(why: str) -> FileFault:
        what = f"{stored.dtype} {list(stored.shape)}"
        message = f"{stored.shown} holds {legible(name)} as {what}; {why}"
        return FileFault(FileProblem("not-supported", stored.shown, message, "", True, legible(name), what))

    if code is None:
        raise refuse("its values are read from whole-number and BOOL tensors only")
    if count > MAX_MAP_ENTRIES:
        raise refuse(f"at most {MAX_MAP_ENTRIES:,} entries are read")
    length = count * BITS[stored.dtype] // 8
    with opened(stored.path, stored.shown) as (descriptor, _):
        data = read_range(descriptor, stored.start, length, stored.shown)
    if len(data) < length:
        return None
    return struct.unpack(f"<{count}{code}", data)
