"""The folder that a script stands in, as far as reading it tells: cd, pushd and popd."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from eaglecfg.record import record
from eaglecfg.review.imports.shell_state import State
from eaglecfg.review.imports.text import Text, not_known

FOLDER, STACK = "/", "//"
"""Names among the variables of a script that no variable of a shell has. FOLDER is absolute where known."""

MOVES = frozenset(("cd", "pushd", "popd"))
DEEPEST = 100
"""Folders on the stack; what lies deeper is not known."""

_AT_THE_START = not_known(FOLDER)
_OPTION = re.compile(r"-[LPe@]+|--")
_ONE_OF_THE_STACK = re.compile(r"[+-]\d+")


@record
class Move:
    """Where a command goes: the ``folder`` and the ``stack`` afterwards, and ``shown``, as it is spelled."""

    folder: Text
    stack: tuple[Text, ...]
    shown: str


def move(name: str, words: Sequence[Text], state: State) -> Move | None:
    """Where ``cd``, ``pushd`` or ``popd`` goes with ``words``; None where it goes nowhere."""
    words = [word for word in words if not _OPTION.fullmatch(word.text)]
    here, stack = _here(state), _stack(state)
    if any(word.text == "-n" for word in words) and name != "cd":
        return None
    target = words[-1] if words else None
    rotates = target is not None and _ONE_OF_THE_STACK.fullmatch(target.text) is not None
    if name == "popd" or (name == "pushd" and (target is None or rotates)):
        if rotates or not stack:
            return Move(_AT_THE_START, (), "another folder")
        folder = stack[-1]
        shown = "where it began" if folder == _AT_THE_START else folder.text
        return Move(folder, (*stack[:-1], here) if name == "pushd" else stack[:-1], shown)
    if target is None:
        return Move(not_known("HOME"), stack, "the home folder")
    after = (*stack, here)[-DEEPEST:] if name == "pushd" else stack
    return Move(_from(here, target, state), after, target.text)


def standing_in(state: State) -> str:
    """The absolute folder where it is certain, else empty."""
    here = _here(state)
    return "" if here.unknown or FOLDER in state.maybe else here.text


def _here(state: State) -> Text:
    value = state.variables.get(FOLDER)
    return value if isinstance(value, Text) else _AT_THE_START


def _stack(state: State) -> tuple[Text, ...]:
    value = state.variables.get(STACK, ())
    return value if isinstance(value, tuple) and STACK not in state.maybe else ()


def _from(here: Text, target: Text, state: State) -> Text:
    """The folder ``target`` as seen from ``here``."""
    if target.unknown or target.text == "-" or not target.text:
        return not_known(FOLDER)
    if target.text.startswith("/"):
        return Text(posixpath.normpath(target.text))
    if here.unknown or "CDPATH" in state.variables:
        return not_known(FOLDER)
    return Text(posixpath.normpath(posixpath.join(here.text, target.text)))


def from_folder(folder: str, path: str) -> str:
    """The path of a checkpoint that is started in ``folder``, empty where ``path`` may be a name on the Hub.

    ``org/name`` is a folder or a name there, whichever exists; ``./org/name`` and ``name`` are folders.
    """
    if not folder or not path or path.startswith(("/", "~")) or "://" in path:
        return ""
    dotted = path.startswith(("./", "../")) or path in (".", "..")
    return posixpath.normpath(posixpath.join(folder, path)) if dotted or path.count("/") != 1 else ""
