"""The first launch since a machine was started: it fills caches for the others, and its numbers do not count.

Seen on H200s with a small model: the first launches compiled kernels and read everything from disk (185 and
72 s of start-up where others took 50), and their servers, once up, stayed 17 and 28 % slower than later
launches of the same settings (`studies/results/tiny-tp2-steps.md`). The first to be launched are the
baselines, so that everything else would look better than it is.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from eaglecfg.machine.processes import boot_id
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import CHECK, History
from eaglecfg.tune.opened import Opened
from eaglecfg.tune.profiles import ships_with_eaglecfg
from eaglecfg.tune.schedule import Wanted

FIRST_START_S = 100.0
"""What a launch that finds caches cold takes longer, until one was seen: 80 to 140 s were."""


def cold(opened: Opened, history: History) -> bool:
    """Whether the server was not yet started well, as it is started now, since the machine was. What ships
    with eaglecfg has no caches."""
    return not ships_with_eaglecfg(opened.prefix) and boot_id() not in history.boots


def to_fill(opened: Opened, history: History) -> bool:
    """Whether the next launch is to fill them (``launch.fill_caches``)."""
    return opened.study.launch.fill_caches and cold(opened, history)


def first_s(opened: Opened, history: History, launch_s: float) -> float:
    """Seconds of the launch that is to fill caches, where others take ``launch_s``; 0 where there is none."""
    return launch_s + longer_s(opened, history, launch_s) if to_fill(opened, history) else 0.0


def longer_s(opened: Opened, history: History, launch_s: float) -> float:
    """What cold caches add to the next launch, in seconds: what they have added in this study so far."""
    if not cold(opened, history):
        return 0.0
    seen = [item.seconds for item in history.colds]
    return max(fmean(seen) - launch_s, 0.0) if seen and history.warm else FIRST_START_S


def filler(design: Design, history: History) -> Arm | None:
    """The setting that fills caches: the baseline, which loads and compiles most, or else another baseline
    that has not failed for reasons of its own."""
    condemned = history.condemned()
    order = [design.baseline, *design.baselines]
    return next((arm for arm in order if arm is not None and arm.key not in condemned), None)


def warming(design: Design, history: History, step: Wanted) -> Wanted:
    """What is launched before ``step``. One that fails counts as any other, so that the schedule goes on from
    it."""
    first = None if step.phase == CHECK else filler(design, history)
    return replace(step, arm=first or step.arm, cold=True)
