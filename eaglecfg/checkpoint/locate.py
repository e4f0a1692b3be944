"""Line and column of a value in a JSON file, found on demand: only files that a finding shows pay for it."""

from __future__ import annotations

import json
import re

from eaglecfg.checkpoint.config import ModelConfig

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]}]+")
_INDEX = re.compile(r"\[(\d+)\]")


def locate(config: ModelConfig, key: str) -> tuple[int, int] | None:
    """Line and column, from 1 and in characters, of the value at the dotted path ``key``.

    A key of the file may itself hold dots; ``[2]`` after a key goes into a list. Where a key is written twice
    the last one is meant, as readers take it. None where the path is not in the file.
    """
    at = _find(config.source, _SPACE.match(config.source).end(), key)  # type: ignore[union-attr]
    if at is None:
        return None
    line = config.source.count("\n", 0, at) + 1
    return line, at - (config.source.rfind("\n", 0, at) + 1) + 1


def _find(text: str, at: int, key: str) -> int | None:
    """Offset of the value at ``key`` below the value that starts at ``at``."""
    while key:
        if text[at : at + 1] not in ("{", "["):
            return None
        best: tuple[int, str] | None = None
        for name, value in _members(text, at):
            rest = _rest(key, name)
            if rest is not None and (best is None or len(rest) <= len(best[1])):
                best = (value, rest)
        if best is None:
            return None
        at, key = best
    return at


def _rest(key: str, name: str | int) -> str | None:
    """What is left of ``key`` after its first part, where that is ``name``; else None."""
    if isinstance(name, int):
        match = _INDEX.match(key)
        if match is None or int(match[1]) != name:
            return None
        return key[match.end() :].removeprefix(".")
    if not key.startswith(name):
        return None
    rest = key[len(name) :]
    if rest and rest[0] not in ".[":
        return None
    return rest.removeprefix(".")


def _members(text: str, at: int) -> list[tuple[str | int, int]]:
    """Name (or position) and offset of every value directly inside the object or list at ``at``."""
    is_object = text[at] == "{"
    out: list[tuple[str | int, int]] = []
    at = _skip_space(text, at + 1)
    while at < len(text) and text[at] not in "]}":
        name: str | int = len(out)
        if is_object:
            match = _STRING.match(text, at)
            if match is None:
                break
            name = json.loads(match[0], strict=False)
            at = _skip_space(text, _skip_space(text, match.end()) + 1)
        out.append((name, at))
        at = _skip_space(text, _end(text, at))
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
    return out


def _end(text: str, at: int) -> int:
    """Offset after the value that starts at ``at``; iterative, since depth comes from the file."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == '"':
            match = _STRING.match(text, at)
            at = match.end() if match else len(text)
        elif char in "{[":
            depth, at = depth + 1, at + 1
        elif char in "}]":
            depth, at = depth - 1, at + 1
        elif char in ",: \t\r\n":
            at += 1
        else:
            match = _SCALAR.match(text, at)
            at = match.end() if match else len(text)
        if depth <= 0 and char not in ",: \t\r\n":
            return at
    return at


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
