"""What is odd about the weight files of a folder as a set, whatever their headers say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import legible, listed
from eaglecfg.checkpoint.index import Index

SINGLE = "model.safetensors"
NUMBERED = r"(?s:(.*))-(\d{5})-of-(\d{5})\.safetensors"
_NOT_NAMED = "not in the index"
MOST_NUMBERS = 10_000
"""Files of one numbered set that are looked for; the largest sets have a few hundred."""


def layout_problems(
    shown: str, index: Index | None, loaded: list[str], tensors: list[str]
) -> list[FileProblem]:
    """Problems of the folder ``shown``, of whose safetensors files ``tensors`` an engine loads ``loaded``."""
    if index is None:
        absent = [_lacks(shown, pattern, names) for pattern, names in missing_numbers(loaded).items()]
        return absent + _several(shown, loaded)
    return [*_skipped(index, loaded), *_beside(shown, [name for name in tensors if name not in set(loaded)])]


def missing_numbers(files: Iterable[str]) -> Mapping[str, list[str]]:
    """Of files named ``x-00001-of-0000N.safetensors``: pattern of the set -> names that are not there."""
    have: dict[tuple[str, int], set[int]] = {}
    for file in files:
        match = re.fullmatch(NUMBERED, file)
        if match:
            have.setdefault((match[1], int(match[3])), set()).add(int(match[2]))
    out: dict[str, list[str]] = {}
    for (prefix, total), numbers in have.items():
        absent = [number for number in range(1, min(total, MOST_NUMBERS) + 1) if number not in numbers]
        if absent:
            names = [f"{prefix}-{number:05d}-of-{total:05d}.safetensors" for number in absent]
            out[f"{prefix}-*-of-{total:05d}.safetensors"] = names
    return out


def _lacks(shown: str, pattern: str, absent: list[str]) -> FileProblem:
    message = f"{shown} lacks {listed(absent)} of the set {legible(pattern)}"
    help = "download the missing files and model.safetensors.index.json"
    return FileProblem("missing-number", shown, message, help, True, legible(absent[0]), "absent")


def _several(shown: str, loaded: list[str]) -> list[FileProblem]:
    matches = [re.fullmatch(NUMBERED, name) for name in loaded]
    if len(loaded) < 2 or (all(matches) and len({(m[1], m[3]) for m in matches if m}) == 1):
        return []
    message = f"{shown} has no index and holds {listed(loaded)}; SGLang loads all of them"
    help = "keep the files of one checkpoint, or add its model.safetensors.index.json"
    return [FileProblem("unindexed-files", shown, message, help, False, legible(loaded[0]), "no index")]


def _skipped(index: Index, loaded: list[str]) -> list[FileProblem]:
    out = []
    for absent in missing_numbers(loaded).values():
        message = f"{index.shown} names no {listed(absent)}, though its numbered files count so far"
        help = "compare the index with the one that the checkpoint was published with"
        out.append(
            FileProblem("odd-numbering", index.shown, message, help, False, legible(absent[0]), "not named")
        )
    return out


def _beside(shown: str, extra: list[str]) -> list[FileProblem]:
    """Safetensors files that the index does not name."""
    out = []
    if SINGLE in extra:
        message = (
            f"{shown} holds {SINGLE} and an index of other files; SGLang loads those, transformers the one"
        )
        out.append(
            FileProblem("both-layouts", shown, message, "remove one of the two", False, SINGLE, _NOT_NAMED)
        )
    rest = [name for name in extra if name != SINGLE]
    if rest:
        message = f"{shown} holds {listed(rest)}, which the index does not name and engines do not load"
        help = "remove what nothing else needs"
        out.append(FileProblem("stray-file", shown, message, help, False, legible(rest[0]), _NOT_NAMED))
    return out
