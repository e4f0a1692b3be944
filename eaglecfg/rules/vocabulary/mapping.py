"""Reading a d2t map both ways: entries as offsets (what SGLang adds to the draft id) and as target ids."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from operator import add, lt

from eaglecfg.record import record

MANY = 64
"""Entries from which on a pattern counts as one; a map of a few tokens can look like anything."""


@record
class Mapping:
    """What ``d2t`` says under both readings.

    ``outside`` are draft ids whose target id (entry + index) is not in the vocabulary, ``repeated`` pairs of
    draft ids with one target id. ``marked`` and ``marked_absolute`` count the entries that ``t2d`` marks
    under the offset and under the absolute reading; both are None where there is no t2d to ask, the latter
    also where the offset reading is right.
    """

    entries: Sequence[int]
    size: int
    outside: tuple[int, ...]
    repeated: tuple[tuple[int, int], ...]
    marked: int | None
    marked_absolute: int | None
    marks: int | None

    @property
    def zeros(self) -> bool:
        """Whether every entry is 0, which maps draft id i to target id i."""
        return not any(self.entries)

    @property
    def rising(self) -> bool:
        """Whether the entries alone are distinct target ids in order, as an absolute map lists them."""
        inside = self.entries[0] >= 0 and self.entries[-1] < self.size
        return inside and all(map(lt, self.entries, islice(self.entries, 1, None)))

    @property
    def neighbours(self) -> bool:
        """Whether two entries follow each other directly, as frequent tokens do in an absolute map."""
        return any(b - a == 1 for a, b in zip(self.entries, self.entries[1:], strict=False))

    @property
    def absolute(self) -> bool:
        """Proof that the entries are target ids: t2d marks them all, or as offsets they leave the
        vocabulary."""
        if not self.entries or self.identity:
            return False
        if self.marked is not None and self.marked_absolute is not None:
            count = len(self.entries)
            return self.marked < count and self.marked_absolute == count and not self.zeros
        return len(self.entries) > 1 and self.rising and bool(self.outside)

    @property
    def perhaps_absolute(self) -> bool:
        """Entries that look like target ids although nothing proves it."""
        return (
            self.marked is None
            and not self.outside
            and len(self.entries) >= MANY
            and self.rising
            and self.neighbours
        )

    @property
    def identity(self) -> bool:
        """Whether the map is the identity on the whole vocabulary."""
        return self.zeros and len(self.entries) == self.size


def read_mapping(entries: Sequence[int], size: int, t2d: bytes | None) -> Mapping:
    """Look at ``entries`` (raw d2t) against a target vocabulary of ``size`` and, where given, the t2d
    marks."""
    return _read(tuple(entries), size, t2d)


@lru_cache(maxsize=4)  # the deployments of a file often share one draft, and two rules look at its map
def _read(entries: tuple[int, ...], size: int, t2d: bytes | None) -> Mapping:
    tokens = list(map(add, entries, range(len(entries))))
    outside: tuple[int, ...] = ()
    repeated: tuple[tuple[int, int], ...] = ()
    # Maps have tens of thousands of entries and most are right: only a wrong one is walked through.
    if tokens and (min(tokens) < 0 or max(tokens) >= size or len(set(tokens)) < len(tokens)):
        outside = tuple(index for index, token in enumerate(tokens) if not 0 <= token < size)
        repeated = _repeated(tokens, size)
    marked = marked_absolute = marks = None
    if t2d is not None:
        marks = len(t2d) - t2d.count(0)
        marked = _marked(tokens, t2d)
        marked_absolute = _marked(entries, t2d) if marked < len(tokens) else None
    return Mapping(entries, size, outside, repeated, marked, marked_absolute, marks)


def _repeated(tokens: Sequence[int], size: int) -> tuple[tuple[int, int], ...]:
    """Pairs of indices that give one token of the vocabulary."""
    first: dict[int, int] = {}
    pairs = []
    for index, token in enumerate(tokens):
        if 0 <= token < size and first.setdefault(token, index) != index:
            pairs.append((first[token], index))
    return tuple(pairs)


def _marked(tokens: Sequence[int], t2d: bytes) -> int:
    """How many of ``tokens`` t2d marks; ids beyond it are not marked."""
    if tokens and (min(tokens) < 0 or max(tokens) >= len(t2d)):
        tokens = [token for token in tokens if 0 <= token < len(t2d)]
    return sum(map(t2d.__getitem__, tokens))  # marks are 0 or 1
