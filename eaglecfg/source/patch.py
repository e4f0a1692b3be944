"""A change of a text as a unified diff that ``patch`` and ``git apply`` take."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from eaglecfg.record import record

NO_NEWLINE = "\n\\ No newline at end of file\n"


def patch_of(before: str, after: str, name: str, *, context: int = 3, git: bool = False) -> str:
    """The unified diff from ``before`` to ``after``; empty where they are the same.

    ``git``: with the line by which ``git apply`` knows that ``name`` counts from the root of the work tree,
    wherever it runs.
    """
    import difflib  # only where somebody wants to see a change

    old, new = _spelled(f"a/{name}"), _spelled(f"b/{name}")
    first, second = (f"{each}\t" if " " in each and each[0] != '"' else each for each in (old, new))
    lines = difflib.unified_diff(_lines(before), _lines(after), first, second, n=context)
    text = "".join(_ended(lines))
    return f"diff --git {old} {new}\n{text}" if git and text else text


def lines_shown(patch: str) -> tuple[int, ...]:
    """The lines of the old text, from 1, that a patch repeats, changed or as context."""
    out: list[int] = []
    for found in re.finditer(r"^@@ -(\d+)(?:,(\d+))? \+\S+ @@", patch, re.MULTILINE):
        first, count = int(found[1]), int(found[2] or 1)
        out += range(first, first + count)
    return tuple(out)


@record
class PatchNames:
    """What files are called in a patch. ``base`` is the folder that the names count from.

    ``git``: that folder is the root of a work tree, and not the one we are in. ``loose``: it is not certain
    that a tool that takes patches finds the files from ``base``.
    """

    base: Path
    names: tuple[str, ...]
    git: bool = False
    loose: bool = False


def patch_names(names: Sequence[str]) -> PatchNames:
    """Names for the files ``names``, each of them another one, links followed.

    They count from the current folder where all lie in there, which ``git apply`` and ``patch -p1`` take
    alike; else from the root of the git work tree that holds them all, as git's own patches do. Files that
    no work tree holds together get the ``..`` that they need, which those tools refuse rather than take for
    another file.
    """
    here, real = Path(os.path.realpath(Path.cwd())), [Path(os.path.realpath(name)) for name in names]
    if all(path.is_relative_to(here) for path in real):
        return PatchNames(here, tuple(path.relative_to(here).as_posix() for path in real))
    root = next((folder for folder in real[0].parents if (folder / ".git").exists()), None)
    if root is not None and all(path.is_relative_to(root) for path in real):
        return PatchNames(root, tuple(path.relative_to(root).as_posix() for path in real), git=True)
    return PatchNames(here, tuple(Path(os.path.relpath(path, here)).as_posix() for path in real), loose=True)


def _spelled(name: str) -> str:
    """``name`` as git spells it in a patch: in quotes where a character would end it."""
    if name.isprintable() and not set(name) & set('"\\'):
        return name
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    out = "".join(
        short.get(each)
        or (each if each.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(each)))
        for each in name
    )
    return f'"{out}"'


def _lines(text: str) -> list[str]:
    """The lines of ``text`` with their line feeds; other characters that end lines elsewhere stay inside."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _ended(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield line if line.endswith("\n") else line + NO_NEWLINE
