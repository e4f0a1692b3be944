"""A change of a text as a unified diff that ``patch`` and ``git apply`` take."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from pathlib import Path

NO_NEWLINE = "\n\\ No newline at end of file\n"


def patch_of(before: str, after: str, name: str, *, context: int = 3) -> str:
    """The unified diff from ``before`` to ``after``; empty where they are the same."""
    import difflib  # only where somebody wants to see a change

    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}", n=context)
    return "".join(_ended(lines))


def patch_name(name: str) -> str:
    """A file name as a patch can carry it: relative, from the current folder or the file's own."""
    here, path = Path.cwd(), Path(name)
    full = Path(os.path.normpath(here / path))
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else path.name


def _lines(text: str) -> list[str]:
    """The lines of ``text`` with their line feeds; other characters that end lines elsewhere stay inside."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _ended(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield line if line.endswith("\n") else line + NO_NEWLINE
