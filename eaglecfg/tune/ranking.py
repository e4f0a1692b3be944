"""Which settings lead, which go into the rounds, and what the rounds have measured so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import ROUND, History, Launch
from eaglecfg.tune.statistics import launch_spread, shrunken

ASSUMED_SPREAD = 0.02
"""Standard deviation of one launch, as a share of its speed, until repeated launches have been seen."""


def arm_of(design: Design, history: History, key: str) -> Arm | None:
    """The arm with this key: of the design, or made again from what the ledger says of it."""
    for arm in (*design.baselines, *design.arms):
        if arm.key == key:
            return arm
    known = history.arms.get(key)
    if known is None:
        return None
    arm = design.space.arm(known["values"])
    return arm if arm.key == key else None


def ran_key(history: History, arm: Arm) -> str:
    """The key of what the server makes of ``arm``."""
    return history.aliases().get(arm.key, arm.key)


def in_space(design: Design, arm: Arm) -> bool:
    """Whether the study as it is now may launch an arm: its space may have lost choices since."""
    listed = {each.key for each in (*design.baselines, *design.arms)}
    return arm.key in listed or (not design.arms and design.space.locate(arm) is not None)


def launchable(design: Design, history: History, key: str) -> Arm | None:
    """The arm to launch for one that ran: itself, or what the server turns into it; None where the space has
    neither any more."""
    asked = [one for one, ran in history.aliases().items() if ran == key]
    arms = (arm_of(design, history, each) for each in (key, *asked))
    return next((arm for arm in arms if arm is not None and in_space(design, arm)), None)


def scores(history: History, *phases: str) -> dict[str, list[float]]:
    """Scores of good launches by what ran, moves of the machine's speed taken out."""
    out: dict[str, list[float]] = {}
    for item in history.launches:
        if item.counts and (not phases or item.phase in phases):
            out.setdefault(item.ran, []).append(history.level(item))
    return out


def spread_of(history: History) -> tuple[float, bool]:
    """Standard deviation of one launch, and whether it was seen in this study rather than assumed."""
    again = scores(history.without({item.n for item in history.launches if item.curtailed}))
    if history.checks:  # a group of their own: they may lie days before
        again["check"] = [item.score for item in history.checks if item.ok]
    seen = launch_spread(again)
    if seen is None or seen[1] < 2:
        return ASSUMED_SPREAD, False
    return seen[0], True


def ranking(history: History, *phases: str) -> list[str]:
    """Arms by shrunken mean, best first; those that broke a limit in most launches or failed are left
    out."""
    values = shrunken(scores(history, *phases), spread_of(history)[0])
    return [arm for arm in sorted(values, key=lambda arm: -values[arm]) if usable(history, arm)]


def usable(history: History, arm: str) -> bool:
    """Whether an arm may win: no failure of its own, limits kept in at least half of its launches."""
    good = history.of(arm)
    broken = sum(bool(item.limits) for item in good)
    return arm not in history.condemned() and bool(good) and broken * 2 <= len(good)


def finalists(design: Design, history: History) -> tuple[Arm, ...]:
    """The arms of the rounds: all in mode rounds, else both baselines and the best of the search."""
    if design.mode == "rounds":
        return design.arms
    fixed = {arm.key for arm in design.baselines}
    # What happens in the rounds must not change who is in them.
    searched = replace(history, launches=tuple(item for item in history.launches if item.phase != ROUND))
    best = [key for key in ranking(searched) if key not in fixed]
    found = [arm for key in best if (arm := launchable(design, history, key)) is not None]
    return (*design.baselines, *found[: design.profile.finalists])


def doubles(arms: Sequence[Arm], aliases: Mapping[str, str]) -> set[str]:
    """Arms that the server turns into another of ``arms``: launched again, they would measure it twice."""
    taken = {arm.key for arm in arms if arm.key not in aliases}
    found: set[str] = set()
    for arm in arms:
        if arm.key in aliases:
            if aliases[arm.key] in taken:
                found.add(arm.key)
            taken.add(aliases[arm.key])
    return found


def compared_launches(design: Design, history: History) -> Mapping[str, list[Launch]]:
    """The launches of those rounds by what ran, in the order of the rounds."""
    condemned, aliases = history.condemned(), history.aliases()
    cells: dict[str, dict[int, Launch]] = {}
    for item in history.launches:
        if item.ok and item.phase == ROUND and item.arm not in condemned:
            own = cells.setdefault(item.ran, {})
            if item.arm == item.ran or item.round not in own:
                own[item.round] = item
    wanted = [arm.key for arm in finalists(design, history) if arm.key not in condemned]
    order = list(dict.fromkeys(aliases.get(key, key) for key in wanted))
    if not order or not set(order) <= set(cells):
        return {}
    full = sorted(set.intersection(*(set(cells[key]) for key in order)))
    return {key: [cells[key][number] for number in full] for key in order}


def open_rounds(design: Design, history: History) -> Mapping[int, int]:
    """Rounds that are begun and not complete, so that they are not compared -> good launches in them."""
    used = {item.round for row in compared_launches(design, history).values() for item in row}
    wanted = {arm.key for arm in finalists(design, history)} - set(history.condemned())
    found: dict[int, int] = {}
    for item in history.launches:
        if item.counts and item.phase == ROUND and item.arm in wanted and item.round not in used:
            found[item.round] = found.get(item.round, 0) + 1
    return dict(sorted(found.items()))


def luck_taken_off(history: History) -> bool:
    """Whether the factor of the leader is less what luck may add: that takes launches made again, which tell
    how far they differ, and some settings to draw it towards."""
    return spread_of(history)[1] and len(scores(history)) > 2


def best_so_far(design: Design, history: History) -> tuple[str, float] | None:
    """Label of the leading setting and its factor over the baseline, both shrunken; 1.0: it is the baseline.

    None before two arms, and while launches of one arm differ as much as arms do.
    """
    baseline = design.baseline
    if baseline is None:
        return None
    values = shrunken(scores(history), spread_of(history)[0])
    base = history.aliases().get(baseline.key, baseline.key)
    order = [key for key in ranking(history) if key in values and launchable(design, history, key)]
    if base not in values or not order or len(set(values.values())) < 2:
        return None
    arm = arm_of(design, history, order[0])
    label = arm.label if arm is not None else str(history.arms[order[0]]["label"])
    return label, math.exp(values[order[0]] - values[base])
