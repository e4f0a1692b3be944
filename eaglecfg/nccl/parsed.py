"""The outcome of reading one variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One way in which NCCL does not take the text as it is meant.

    ``code``: ``misread``, ``spelling``, ``octal``, ``overflow``, ``empty``, ``values``, ``range``,
    ``multiple``, ``power``, ``unusual``, ``word``, ``case``, ``number``, ``element`` and the other faults
    of lists. ``outcome`` is what NCCL does, ``expected`` the accepted form, ``part`` the piece of the
    text, ``fixed`` the text that is meant where that is certain.
    """

    code: str
    outcome: str
    expected: str
    part: str = ""
    fixed: str | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """``taken`` is the value that NCCL works with: an int, an ``Allowed`` of lists, text, or None for its
    default.

    ``shown`` says the same in words.
    """

    name: str
    text: str
    taken: Any
    shown: str
    problems: tuple[Problem, ...] = ()
