"""What to launch next: a pure function of the design and the ledger, so that a resume changes nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from eaglecfg.tune import drift
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import (
    ANCHOR,
    MACHINE_FAILURES,
    MOST_RETRIES,
    MOVED,
    REPLICATE,
    ROUND,
    SEARCH,
    History,
    Launch,
)
from eaglecfg.tune.profiles import ANCHOR_EVERY
from eaglecfg.tune.ranking import arm_of, doubles, finalists, in_space, launchable, ranking
from eaglecfg.tune.suggest import Told, suggestions

LEADERS = 5
"""Replicates go to the least launched of this many leaders."""

MOST_SAME_FAILURES = 8
"""Failures of one class in a row after which the study stops with a diagnosis: the night is worth more."""

MOST_DRAWS = 500
"""Suggestions drawn before the space counts as exhausted."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The next launch. ``again`` says why it repeats the one before, else it is empty. ``cold``: it fills
    caches for those that follow, and counts only if it fails."""

    arm: Arm
    phase: str
    round: int = 0
    again: str = ""
    cold: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """An arm that the sampler asked for and the validator refuses: told to the sampler, costs nothing."""

    arm: Arm
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left to launch. ``why`` in words; ``broken`` where the study gave up."""

    why: str
    broken: bool = False


Step = Wanted | Rejected | Finished


def next_step(design: Design, history: History, *, search_over: bool = False, since: int = 0) -> Step:
    """The next step. ``search_over`` ends the search early, because time is kept for the rounds.

    ``since`` is the last launch before this session: failures of the machine that a user has seen to since
    do not stop the study again.
    """
    if not design.baselines:
        return Finished("no baseline may be launched: the validator refuses them", broken=True)
    search_over = search_over or history.segment >= drift.MOST_DRIFTS
    last = history.launches[-1] if history.launches else None
    trouble = _trouble(design, history, since)
    if trouble:
        return Finished(trouble, broken=True)
    if last is not None and repeats(history, last):
        arm = arm_of(design, history, last.arm)
        if arm is not None and in_space(design, arm):
            return Wanted(arm, last.phase, last.round, again=last.failure)
    if design.mode != "rounds" and not search_over and not _search_done(design, history):
        if drift.to_confirm(design, history) and design.baseline is not None:
            return Wanted(design.baseline, ANCHOR, again=MOVED)
        step = _search(design, history)
        if step is not None:
            return step
    return _round(design, history, finalists(design, history))


def repeats(history: History, last: Launch) -> bool:
    """Whether the last launch is to be launched again as it was."""
    if last.forgiven:
        return False
    if last.failure in MACHINE_FAILURES:
        return True
    return last.ambiguous and all(item.n != last.n for item in history.settled())


def _trouble(design: Design, history: History, since: int) -> str:
    """A reason to stop the whole study, or nothing."""
    if trouble := same_failures(history, since) or _nothing_but_baselines(design, history, since):
        return trouble
    condemned = history.condemned()
    if all(arm.key in condemned for arm in design.baselines):
        return (
            f"no baseline can be launched: {condemned[design.baselines[0].key].message}; once the cause is "
            f"mended, --retry-failed launches them again"
        )
    return ""


def same_failures(history: History, since: int) -> str:
    """Why failures in a row, after the launch ``since``, are a reason to stop, or nothing."""
    recent = (item for item in reversed(history.launches) if item.n > since)
    tail = list(itertools.takewhile(lambda item: not item.ok, recent))
    retried = tail[: MOST_RETRIES + 1]
    if len(retried) > MOST_RETRIES and all(item.failure in MACHINE_FAILURES for item in retried):
        return f"{len(retried)} launches in a row failed for reasons of the machine: {tail[0].message}"
    same = tail[:MOST_SAME_FAILURES]
    if len(same) == MOST_SAME_FAILURES and len({item.failure for item in same}) == 1:
        return f"{len(same)} launches in a row failed the same way ({same[0].failure}): {same[0].message}"
    return ""


def _nothing_but_baselines(design: Design, history: History, since: int) -> str:
    """The same where baselines run and nothing else does: among a search they come too often for failures in
    a row. Settings that fail one way beside others that run are the search's own affair."""
    fixed = {arm.key for arm in design.baselines}
    others = [item for item in history.launches if item.arm not in fixed and not item.forgiven]
    if any(item.ok for item in others):
        return ""
    tail = [item for item in others if item.n > since][-MOST_SAME_FAILURES:]
    if len(tail) < MOST_SAME_FAILURES or len({item.failure for item in tail}) > 1:
        return ""
    return (
        f"{len(tail)} launches in a row of settings other than the baseline failed the same way "
        f"({tail[-1].failure}), and none has run: {tail[-1].message}"
    )


def _steps(history: History) -> list[Launch]:
    """Launches of the search that are paid for."""
    return [item for item in history.paid() if item.phase != ROUND]


def _search_done(design: Design, history: History) -> bool:
    """The rounds, once begun, are not left; before that the search ends with its share of the launches.

    Rounds without any search before them are from a time when the space was small enough to do without.
    """
    steps = _steps(history)
    if steps and history.launches[-1].phase == ROUND:
        return True
    return design.mode == "search" and len(steps) >= design.search_launches


def _search(design: Design, history: History) -> Step | None:
    """Baselines, then the space; every eighth launch the baseline, a share of them leaders again."""
    steps = _steps(history)
    done = {item.arm for item in history.settled() if item.phase != ROUND}
    condemned, aliases = history.condemned(), history.aliases()
    for arm in design.baselines:
        if arm.key not in done:
            return Wanted(arm, SEARCH)
    index = len(steps)
    baseline = design.baseline
    open_arms = [arm for arm in design.arms if arm.key not in done]
    if design.mode == "screen" and not open_arms:
        left = design.replicates - sum(item.phase == REPLICATE for item in steps)
        leader = _leader(design, history) if left > 0 else None
        return Wanted(leader, REPLICATE) if leader else None
    if index % ANCHOR_EVERY == ANCHOR_EVERY - 1 and baseline and baseline.key not in condemned:
        return Wanted(baseline, ANCHOR)
    if design.mode == "screen":
        return Wanted(open_arms[0], SEARCH)
    every = round(1 / design.profile.replicates) if design.profile.replicates else 0
    if every and index >= ANCHOR_EVERY and index % every == every - 2:
        leader = _leader(design, history)
        if leader:
            return Wanted(leader, REPLICATE)
    return _suggested(design, history, done | set(aliases))


def _suggested(design: Design, history: History, known: set[str]) -> Step | None:
    """The sampler's first suggestion that is new; None when the space seems exhausted."""
    told = told_of(design, history)
    rejected = {key for key in history.told if isinstance(key, str)}
    for point in itertools.islice(suggestions(design.space, told, design.seed), MOST_DRAWS):
        arm = design.space.arm(design.space.values(point))
        if arm.key in known or arm.key in rejected:
            continue
        findings = design.verdict(arm)
        return Rejected(arm, findings) if findings else Wanted(arm, SEARCH)
    return None


def told_of(design: Design, history: History) -> list[Told]:
    """What the sampler knows, in the order of the ledger; what is no longer in the space is left out."""
    launches = {item.n: item for item in history.settled() if item.phase != ROUND}
    out: list[Told] = []
    for entry in history.told:
        launch = launches.get(entry) if isinstance(entry, int) else None
        if isinstance(entry, int) and launch is None:
            continue
        arm = arm_of(design, history, launch.ran if launch is not None else str(entry))
        if arm is None and launch is not None:
            arm = arm_of(design, history, launch.arm)
        point = design.space.locate(arm) if arm is not None else None
        if point is not None:
            good = launch is not None and launch.ok
            score = history.level(launch) if launch is not None and good else None
            out.append(Told(point, score, bool(launch and launch.limits)))
    return out


def _leader(design: Design, history: History) -> Arm | None:
    found = ((key, launchable(design, history, key)) for key in ranking(history))
    best = itertools.islice(((key, arm) for key, arm in found if arm is not None), LEADERS)
    return min(best, key=lambda pair: len(history.of(pair[0])), default=("", None))[1]


def _round(design: Design, history: History, arms: Sequence[Arm]) -> Step:
    """The first open cell; every second round runs backwards, so that a slow drift cancels."""
    for number in range(design.rounds):
        cells = open_cells(design, history, arms, number)
        if not cells:
            continue
        left = left_to_pay(design, history)
        if left is not None and left < len(cells) and not may_be_cut(design, number):
            rest = "the one that is left pays" if left == 1 else f"the {left} that are left pay"
            words = f": {rest} for no whole round" if left else ""
            return Finished(f"the budget of {design.launches} launches is spent{words}")
        return Wanted(cells[0], ROUND, number)
    return Finished("every planned launch is done")


def open_cells(design: Design, history: History, arms: Sequence[Arm], number: int) -> list[Arm]:
    """The arms of a round that are still to be launched in it, in the order of the round."""
    condemned, twice = history.condemned(), doubles(arms, history.aliases())
    done = {item.arm for item in history.settled() if item.phase == ROUND and item.round == number}
    return [
        arm
        for arm in (arms if number % 2 == 0 else reversed(arms))
        if arm.key not in done and arm.key not in condemned and not (arm.key in twice and number > 0)
    ]


def may_be_cut(design: Design, number: int) -> bool:
    """Whether a round may begin that the budget cannot finish: the first one of a study without a search, as
    it shows what starts at all."""
    return design.mode == "rounds" and number == 0


def left_to_pay(design: Design, history: History) -> int | None:
    """What is left of the budget of launches, None where there is none."""
    return None if design.launches is None else max(design.launches - len(history.paid()), 0)


def launches_left(design: Design, history: History) -> int:
    """Launches that are left of the plan, as far as the budget of launches pays for whole rounds of them.
    What moves of the machine's speed, failures and the clock will change is not foreseen."""
    search, budget = _search_left(design, history), left_to_pay(design, history)
    arms = finalists(design, history)
    most = math.inf if budget is None else float(budget)
    total = min(search, most)
    for number in range(design.rounds):
        cells = design.final_arms if search else len(open_cells(design, history, arms, number))
        if total + cells > most and not may_be_cut(design, number):
            break
        total = min(total + cells, most)
    looks = design.mode != "rounds" and search and drift.to_confirm(design, history)
    return int(total) + bool(looks)


def _search_left(design: Design, history: History) -> int:
    """Launches that the search will still make."""
    if design.mode == "rounds" or history.segment >= drift.MOST_DRIFTS or _search_done(design, history):
        return 0
    steps = _steps(history)
    if design.mode == "search":
        return design.search_launches - len(steps)
    done = {item.arm for item in history.settled() if item.phase != ROUND}
    index, left = len(steps), len([arm for arm in design.arms if arm.key not in done])
    again = design.replicates - sum(item.phase == REPLICATE for item in steps)
    fixed = design.baseline is not None and design.baseline.key not in history.condemned()
    count = 0
    while left:
        anchor = fixed and (index + count) % ANCHOR_EVERY == ANCHOR_EVERY - 1
        count, left = count + 1, left - (not anchor)
    return count + max(again, 0)
