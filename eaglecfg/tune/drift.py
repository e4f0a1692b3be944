"""Whether the machine has changed under a search: the baseline, launched again and again, tells.

A search compares launches that are hours apart. When the baseline's speed has moved for good, what was
measured since it was last seen where it had been says nothing: it is set aside and measured again, and later
launches are compared with the baseline as it is now. One odd launch is not a move: it is launched once more.
The rounds at the end need none of this, as there every setting meets the same stretch of time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eaglecfg.tune.design import Design
from eaglecfg.tune.history import ROUND, History, Launch
from eaglecfg.tune.ranking import spread_of
from eaglecfg.tune.statistics import mean

LEAST_MOVE = math.log1p(0.03)
"""Moves below this (of log speed) are never called a drift."""

SPREADS = 3.0
"""Nor are those below this many standard deviations of one launch."""

MOST_DRIFTS = 3
"""Moves after which the search ends and the rounds begin: on such a machine a search compares weather."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of the baseline that two launches in a row agree on.

    ``change`` is the log of its factor. ``since`` are the two launches that show it, ``aside`` those of other
    settings between them and the last launch of the baseline at its old speed.
    """

    change: float
    since: tuple[int, ...]
    aside: tuple[int, ...]


def anchors(design: Design, history: History) -> list[Launch]:
    """Good launches of the baseline in the search, since the last move."""
    baseline = design.baseline
    if baseline is None:
        return []
    return [
        item
        for item in history.launches
        if item.counts
        and item.arm == baseline.key
        and item.phase != ROUND
        and item.segment == history.segment
    ]


def to_confirm(design: Design, history: History) -> bool:
    """Whether the last launch is a baseline that is off where it was, so that it has to be launched again."""
    seen = anchors(design, history)
    if len(seen) < 2 or history.launches[-1].n != seen[-1].n:
        return False
    if len(seen) > 2 and _next_to(history, seen[-2], seen[-1]):
        return False  # it has been launched again already
    return abs(seen[-1].score - mean([item.score for item in seen[:-1]])) > _limit(history, seen[-2])


def find_move(design: Design, history: History) -> Move | None:
    """The move that the last two launches show, both of the baseline; None where there is none."""
    seen = anchors(design, history)
    if len(seen) < 3 or history.launches[-1].n != seen[-1].n or not _next_to(history, seen[-2], seen[-1]):
        return None
    before, pair = seen[:-2], seen[-2:]
    level, limit = mean([item.score for item in before]), _limit(history, before[-1])
    changes = [item.score - level for item in pair]
    if not (all(change > limit for change in changes) or all(change < -limit for change in changes)):
        return None
    aside = tuple(
        item.n
        for item in history.launches
        if item.counts and item.phase != ROUND and before[-1].n < item.n < pair[0].n
    )
    return Move(mean(changes), tuple(item.n for item in pair), aside)


def _next_to(history: History, one: Launch, other: Launch) -> bool:
    """Whether no launch that counts lies between the two."""
    return not any(one.n < item.n < other.n and item.counts for item in history.launches)


def _limit(history: History, before: Launch) -> float:
    """The least change that is called a move. A move itself must not widen the spread that it is held
    against: what was launched after ``before``, the baseline at its old speed, is left out, leaders that were
    launched again among it."""
    odd = {item.n for item in history.launches if item.n > before.n}
    return max(LEAST_MOVE, SPREADS * spread_of(history.without(odd))[0])
