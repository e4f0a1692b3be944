"""Compares the facts with the strings of an installed libnccl. Needs no GPU and loads no library."""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from pathlib import Path

from eaglecfg.nccl.facts import library_strings, variable_fact, variable_names

_NAME = re.compile(rb"NCCL_[A-Z0-9][A-Z0-9_]{1,60}")
_VERSION = re.compile(rb"NCCL version ([0-9]+\.[0-9]+\.[0-9]+)")


@dataclass(frozen=True, slots=True)
class Comparison:
    """``version`` as the library's own strings say it, empty where they do not. ``unknown``: names in the
    library that the facts lack. ``missing``: variables that this version should read and whose name the
    library lacks; ``early``: variables that it should not read yet, or any more, and whose name it holds."""

    version: str
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    early: tuple[str, ...]


def compare_library(path: Path, version: str = "") -> Comparison:
    """Names in ``libnccl.so.2`` at ``path`` against the facts. Raises OSError where the file cannot be read.

    ``version`` overrides what the library says about itself. A name counts as present where it stands
    anywhere in the file, since some are preceded by other bytes.
    """
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return Comparison(version, (), tuple(variable_names()), ())
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = {name.decode() for name in _NAME.findall(content)}
            said = _VERSION.search(content)
            version = version or (said[1].decode() if said else "")
    known = frozenset(variable_names())
    missing: list[str] = []
    early: list[str] = []
    for name in variable_names():
        fact = variable_fact(name)
        assert fact is not None
        standing = fact.standing(version) if version else "open"
        if standing == "there" and name not in found:
            missing.append(name)
        if standing in ("not yet", "gone") and name in found:
            early.append(name)
    unknown = sorted(found - known - library_strings())
    return Comparison(version, tuple(unknown), tuple(missing), tuple(early))
