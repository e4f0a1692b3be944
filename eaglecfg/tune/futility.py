"""When the rest of a launch is not worth its time: a setting far behind the baseline on the same blocks.

In the search alone, where the next setting is worth more than a better number for a bad one. Nothing is
dropped by it: the setting keeps its score, and may still come into the rounds, which are always measured
whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from eaglecfg.tune.design import Design
from eaglecfg.tune.drift import anchors
from eaglecfg.tune.history import SEARCH, History
from eaglecfg.tune.ranking import spread_of
from eaglecfg.tune.schedule import Wanted
from eaglecfg.tune.statistics import mean

LOOK = 2
"""Blocks after which a launch is looked at, once per concurrency."""

LOSS = -math.log(0.9)
"""How far behind (in logs) every one of them has to be, each against the baseline's block of the same
prompts."""

SPREADS = 3.0
"""At least so many standard deviations of one launch, where launches differ much: one slow launch is no
loss."""

Reference = Mapping[int, Sequence[float]]
"""Logs of speed by concurrency, block by block, less the loss from which on it is pointless to go on."""


def reference_for(design: Design, history: History, step: Wanted) -> Reference:
    """What the blocks of ``step`` are held against; empty where it is measured whole: in the rounds, where it
    repeats a setting, for the baselines themselves, and while no baseline has been measured."""
    if step.phase != SEARCH or step.arm.key in {arm.key for arm in design.baselines}:
        return {}
    seen = [item for item in anchors(design, history) if item.blocks]
    if not seen:
        return {}
    loss = max(LOSS, SPREADS * spread_of(history)[0])
    out: dict[int, list[float]] = {}
    for level in set.intersection(*(set(item.blocks) for item in seen)):
        rows = [item.blocks[level] for item in seen]
        out[level] = [mean([row[k] for row in rows]) - loss for k in range(min(map(len, rows)))]
    return out


def pointless(reference: Reference, concurrency: int, blocks: Sequence[float]) -> bool:
    """Whether the blocks so far (logs of speed) are so far behind that the rest is left out."""
    bar = reference.get(concurrency, ())
    if len(blocks) != LOOK or len(bar) < LOOK:
        return False
    return all(block < least for block, least in zip(blocks, bar, strict=False))
