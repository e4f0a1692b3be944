"""Line and column of a value in a JSON file, found on demand: only files that a finding shows pay for it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig

_DECODER = json.JSONDecoder(strict=False)


def locate(config: ModelConfig, key: str) -> tuple[int, int] | None:
    """Line and column, from 1 and in characters, of the value at the dotted path ``key``.

    A key of the file may itself hold dots; ``[2]`` after a key goes into a list. Where a key is written twice
    the last one is meant, as readers take it. None where the path is not in the file.
    """
    text = config.source
    try:
        at = _find(text, _skip_space(text, 0), key)
    except (ValueError, IndexError, RecursionError):  # not JSON after all
        return None
    if at is None:
        return None
    line_start = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, at) + 1, at - line_start + 1


def _find(text: str, at: int, key: str) -> int | None:
    """Offset of the value at ``key`` below the value that starts at ``at``."""
    while key:
        best: tuple[int, str] | None = None
        for name, value in _members(text, at):
            rest = _rest(key, name)
            if rest is not None and (best is None or len(rest) <= len(best[1])):
                best = (value, rest)
        if best is None:
            return None
        at, key = best
    return at


def _rest(key: str, name: str) -> str | None:
    """What is left of ``key`` after its first part, where that is ``name``; else None."""
    if not key.startswith(name):
        return None
    rest = key[len(name) :]
    if rest and rest[0] not in ".[":
        return None
    return rest.removeprefix(".")


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """Name and offset of every value directly inside the object or list at ``at``; items are ``[0]`` ...

    Raises ValueError or IndexError where the text is not JSON.
    """
    opening = text[at]
    if opening not in "{[":
        return
    at = _skip_space(text, at + 1)
    count = 0
    while text[at] not in "]}":
        name = f"[{count}]"
        if opening == "{":
            name, at = _DECODER.raw_decode(text, at)
            if not isinstance(name, str):
                raise ValueError("a key that is not text")
            at = _skip_space(text, _skip_space(text, at) + 1)
        yield name, at
        count += 1
        at = _skip_space(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip_space(text, at + 1)


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
