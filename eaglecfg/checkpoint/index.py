"""``model.safetensors.index.json``: which file holds which tensor."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import FileFault, legible, listed
from eaglecfg.checkpoint.limits import MAX_FILES, MAX_INDEX_BYTES, MAX_REPEATED, MAX_TENSORS
from eaglecfg.checkpoint.regular import read_small
from eaglecfg.checkpoint.strictjson import JsonFault, decode, kind_of, loads, refuse_half_characters

SAFETENSORS_INDEX = "model.safetensors.index.json"
BIN_INDEX = "pytorch_model.bin.index.json"


class Index(NamedTuple):
    """``weight_map`` is tensor name to file name, ``total_size`` in bytes where the file gives it."""

    shown: str
    weight_map: Mapping[str, str]
    total_size: int | None
    problems: tuple[FileProblem, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that the map names, once, in order of first mention."""
        return tuple(dict.fromkeys(self.weight_map.values()))


def read_index(path: str, shown: str) -> Index:
    """Read and check an index. Raises FileFault where the file is not there, not JSON, or not an index."""
    data = read_small(path, shown, MAX_INDEX_BYTES)
    try:
        return _index(data, shown)
    except JsonFault as fault:
        message = f"{shown} {fault.message}"
        raise FileFault(FileProblem("index-malformed", shown, message, _AGAIN, True, fault.place)) from None


_AGAIN = "download the index again, or write it with the weights"


def _index(data: bytes, shown: str) -> Index:
    if data.count(b'"') > 4 * MAX_TENSORS + 1000 or data.count(b"[") + data.count(b"{") > 10_000:
        raise JsonFault(f"has more entries than {MAX_TENSORS:,}")
    text = decode(data)
    top = loads(text)
    if not isinstance(top, dict):
        raise JsonFault(f"holds {kind_of(top)}, not an object")
    if "\\" in text:
        refuse_half_characters(text)
    weight_map = top.get("weight_map")
    if not isinstance(weight_map, dict):
        raise JsonFault("has no weight_map, the object that names the file of each tensor", "weight_map")
    if not weight_map:
        raise JsonFault("has an empty weight_map, so no file would be loaded", "weight_map")
    if set(map(type, weight_map.values())) - {str}:
        name = next(name for name, file in weight_map.items() if type(file) is not str)
        raise JsonFault(f"maps {legible(name)} to {kind_of(weight_map[name])}, not to a file name", name)
    if len(set(weight_map.values())) > MAX_FILES:
        raise JsonFault(f"names more than {MAX_FILES:,} files", "weight_map")
    problems = _unsafe(weight_map, shown)
    if "\\" in text or text.count('"') != _quotes(top):
        problems += _twice(text, weight_map, shown)
    metadata = top.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return Index(shown, weight_map, total if type(total) is int else None, tuple(problems))


def plain(name: str) -> bool:
    """Whether a file name stays inside its folder: no separator, no drive, no scheme, not ``..``."""
    return bool(name) and name not in (".", "..") and not any(c in name for c in "/\\:\0") and len(name) < 256


def _unsafe(weight_map: Mapping[str, str], shown: str) -> list[FileProblem]:
    bad = sorted(file for file in set(weight_map.values()) if not plain(file))
    if not bad:
        return []
    message = f"{shown} names {listed(bad)}, which is not a plain file name"
    help = "name files of the same folder only, without / or .."
    return [FileProblem("unsafe-path", shown, message, help, True, "weight_map", legible(bad[0]))]


def _quotes(value: Any) -> int:
    """Quotes in the text that ``value`` was read from, if no key stands twice and no string holds one."""
    if isinstance(value, str):
        return 2
    if isinstance(value, list):
        return sum(map(_quotes, value))
    if not isinstance(value, dict):
        return 0
    if set(map(type, value.values())) == {str}:
        return 4 * len(value)  # the weight map
    return 2 * len(value) + sum(map(_quotes, value.values()))


def _twice(text: str, weight_map: Mapping[str, str], shown: str) -> list[FileProblem]:
    """Names that the map gives two files; the last one counts for every reader."""
    repeated: list[tuple[str, str]] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs) and len(repeated) < MAX_REPEATED:
            others = ((key, str(value)) for key, value in pairs if out[key] is not value)
            repeated.extend(islice(others, MAX_REPEATED))
        return out

    loads(text, object_pairs_hook=build)
    if not repeated:
        return []
    name, other = repeated[0]
    kept = weight_map.get(name)
    where = f": {legible(other)} and {legible(kept)}" if kept is not None and kept != other else ""
    message = f"{shown} names {listed(sorted({key for key, _ in repeated}))} twice{where}"
    return [
        FileProblem("duplicate-tensor", shown, message, "keep one entry per tensor", False, legible(name))
    ]
