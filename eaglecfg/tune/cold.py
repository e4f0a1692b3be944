"""The first launch since a machine was started: it fills caches for the others, and its numbers do not count.

Seen on H200s with a small model: the first launches compiled kernels and read everything from disk (185 and
72 s of start-up where others took 50), and their servers, once up, stayed 17 and 28 % slower than later
launches of the same settings (`studies/results/tiny-tp2-steps.md`). The first to be launched are the
baselines, so that everything else would look better than it is.
"""

from __future__ import annotations

from dataclasses import replace

from eaglecfg.machine.processes import boot_id
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import History
from eaglecfg.tune.opened import Opened
from eaglecfg.tune.profiles import ships_with_eaglecfg
from eaglecfg.tune.schedule import Wanted

FIRST_START_S = 100.0
"""What a launch that finds caches cold takes longer: 80 to 140 s were seen."""


def cold(opened: Opened, history: History) -> bool:
    """Whether nothing was launched well under these conditions since the machine was started. What ships with
    eaglecfg has no caches."""
    return not ships_with_eaglecfg(opened.prefix) and boot_id() not in history.boots


def to_fill(opened: Opened, history: History) -> bool:
    """Whether the next launch is to fill them (``launch.fill_caches``)."""
    return opened.study.launch.fill_caches and cold(opened, history)


def warming(design: Design, history: History, step: Wanted) -> Wanted:
    """What is launched before ``step``: the baseline, which loads and compiles most, or ``step`` itself where
    the baseline has failed. One that fails counts as any other, so that the schedule goes on from it."""
    failed = {item.arm for item in (*history.checks, *history.launches) if not item.ok and not item.forgiven}
    first = design.baseline if design.baseline is not None and design.baseline.key not in failed else step.arm
    return replace(step, arm=first, cold=True)
