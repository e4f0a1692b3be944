"""What a study is going to do, said before it starts: settings, launches, time, and the gain it can show."""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglecfg.rules.study.parts import UNSET
from eaglecfg.tune.arm import tree
from eaglecfg.tune.cold import filler, first_s, longer_s, to_fill
from eaglecfg.tune.conclusion import WIDE
from eaglecfg.tune.deadline import Deadline, launch_seconds, rounds_kept, until_time
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import History
from eaglecfg.tune.opened import Opened
from eaglecfg.tune.profiles import ANCHOR_EVERY
from eaglecfg.tune.ranking import spread_of
from eaglecfg.tune.schedule import launches_left
from eaglecfg.tune.space import Space
from eaglecfg.tune.statistics import MOST_ROUNDS, resolvable, rounds_for
from eaglecfg.tune.step_cost import title

MOST_NAMED = 24
"""Settings that the plan names in a sentence; more are counted by key."""

USUAL_GOAL = 0.02
"""The gain for which the plan says how many launches it would take."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``launches`` are those left, one that fills caches not among them; ``seconds`` is the time of all.
    ``resolves`` is the gain (a share) that is found with 80 % probability at a launch ``spread`` (a share);
    ``spread_seen`` and ``time_seen`` tell measured from assumed."""

    launches: int
    launch_s: float
    seconds: float
    time_seen: bool
    spread: float
    spread_seen: bool
    resolves: float
    rounds_for_goal: int


def make_plan(opened: Opened, history: History) -> Plan:
    """The plan for what is left of a study."""
    design = opened.design
    launch_s = launch_seconds(history, opened.assumed_launch_s)
    launches = launches_left(design, history)
    spread, spread_seen = spread_of(history)
    arms, rounds = design.final_arms, paid_rounds(opened, history)
    return Plan(
        launches,
        launch_s,
        launches * launch_s + (_first_launch(opened, history, launch_s) if launches else 0.0),
        bool(history.timed),
        spread,
        spread_seen,
        resolvable(spread, rounds, arms) if arms > 1 else math.inf,
        rounds_for(USUAL_GOAL, spread, max(arms, 2)),
    )


def paid_rounds(opened: Opened, history: History) -> int:
    """Whole rounds that the budget pays for, in launches and in time."""
    design, now = opened.design, time.time()
    left = Deadline(opened.study.budget, now, opened.assumed_launch_s).left_s(history, now)
    paid = _paid_by_launches(design)
    if left is None or not design.final_arms:
        return paid
    each = launch_seconds(history, opened.assumed_launch_s)
    fit = len(history.paid()) + int(max(left - _first_launch(opened, history, each), 0.0) / each)
    kept = 0 if design.mode == "rounds" else min(rounds_kept(design, fit), fit // design.final_arms)
    return max(min(paid, max((fit - design.search_launches) // design.final_arms, kept)), 0)


def _paid_by_launches(design: Design) -> int:
    if design.launches is None or not design.final_arms:
        return design.rounds
    return max(min(design.rounds, (design.launches - design.search_launches) // design.final_arms), 0)


def _first_launch(opened: Opened, history: History, launch_s: float) -> float:
    """Seconds that cold caches take: longer for the first launch, which is one more where it only fills
    them."""
    return first_s(opened, history, launch_s) or longer_s(opened, history, launch_s)


def first_words(opened: Opened, history: History) -> str:
    """What is launched while caches are cold."""
    arm = filler(opened.design, history)
    what = arm.label if arm is not None else "the first setting"
    return (
        f"one launch of {what} fills caches (kernels are compiled, files read from disk): not compared, nor "
        f"paid from a budget of launches"
    )


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def gain_words(plan: Plan, rounds: int, more: str = "give a larger budget") -> str:
    """The sentence on what this study can show. ``more``: what would give it more rounds."""
    source = "seen in this study" if plan.spread_seen else "assumed until launches have been repeated"
    if math.isinf(plan.resolves):
        return f"too few rounds to show any gain; {more}"
    goal = f"{USUAL_GOAL * 100:.0f} % would take {plan.rounds_for_goal}"
    if plan.rounds_for_goal >= MOST_ROUNDS:
        goal = f"{USUAL_GOAL * 100:.0f} % would take more than {MOST_ROUNDS}"
    if plan.resolves > WIDE:
        return (
            f"no gain below a doubling is resolved with {rounds} launches a setting, if launches of one "
            f"setting differ by {plan.spread * 100:.1f} % ({source}); {goal}"
        )
    return (
        f"a gain of {plan.resolves * 100:.1f} % or more is found 4 times in 5 with {rounds} launches a "
        f"setting, if launches of one setting differ by {plan.spread * 100:.1f} % ({source}); {goal}"
    )


def launch_words(design: Design, *, timed: bool = False) -> str:
    """How many launches of what, by mode; ``timed``: time may end the rounds."""
    paid = _paid_by_launches(design)
    if design.mode == "rounds" and not paid:
        return f"{design.launches} launches of a round of {design.final_arms}: the budget pays for no more"
    rounds = "1 round" if paid == 1 else f"{paid} rounds"
    finals = f"{rounds} of {design.final_arms} = {design.final_arms * paid} launches"
    if paid < design.rounds:
        finals += ", as the budget pays for no more"
    if timed and design.mode != "rounds" and design.kept_rounds < design.rounds:
        finals = f"up to {rounds} of {design.final_arms}, as time allows"
    if design.mode == "rounds":
        return finals if paid == 1 else f"{finals}, every second round backwards"
    baselines = "both baselines" if len(design.baselines) > 1 else "the baseline"
    finals = f"{finals}," if "," in finals else finals
    again = f"the baseline every {ANCHOR_EVERY}th"
    if design.mode == "screen":
        return (
            f"every setting once, {again}, leaders again: {design.search_launches} launches; then "
            f"{finals} with {baselines} and the best {design.final_arms - len(design.baselines)}"
        )
    return (
        f"{design.search_launches} launches chosen by a sampler, {again}; then "
        f"{finals} with {baselines} and the best {design.final_arms - len(design.baselines)}"
    )


def plan_lines(opened: Opened, history: History) -> list[tuple[str, str]]:
    """(heading, text) pairs that describe the study."""
    design, measured, plan = opened.design, opened.plan, make_plan(opened, history)
    engine, budget = opened.config.engine, opened.study.budget
    timed = budget.hours is not None or budget.until is not None
    label = f"{engine.name} {engine.version}" if engine is not None else "engine not named"
    out = [
        (
            "study",
            f"{opened.name}: deployment {opened.deployment.name} of {opened.config.document.name}, {label}",
        )
    ]
    if design.step_cost is not None:
        out.append(("STEP COST", title(design.step_cost).removeprefix("STEP COST ONLY: ")))
    out.append(("settings", _settings(design)))
    out += [("not searched", f"{key}: {why}") for key, why in opened.inert.items()]
    out += [("unset", words) for words in _whole_blocks(opened.space)]
    out += [("in part", words) for words in _conditional(opened.space)]
    out += _rejected(design)
    out.append(("profile", f"{design.profile.name}: {launch_words(design, timed=timed)}"))
    levels = " and ".join(str(level) for level in measured.concurrency)
    out.append(
        (
            "each launch",
            f"warm-up, then {measured.blocks} blocks of {measured.requests_per_block} requests x "
            f"{measured.output_tokens} tokens at concurrency {levels}, over again where a server answers "
            f"them in less than {measured.block_seconds:g} s",
        )
    )
    first = ""
    if plan.launches and to_fill(opened, history):
        out.append(("first", first_words(opened, history)))
        first = " after the first"
    source = "as seen so far" if plan.time_seen else "assumed until the first has been seen"
    done = f"{len(history.launches)} launches are done; " if history.launches else ""
    out.append(
        (
            "time",
            f"{done}{plan.launches} launches{first}, about {duration(plan.seconds)} ("
            f"{duration(plan.launch_s)} a launch, {source}){_budget(opened, plan, history)}",
        )
    )
    out.append(("can show", gain_words(plan, paid_rounds(opened, history), _more_rounds(opened))))
    if history.aside:
        out.append(
            ("set aside", f"{history.aside} launches of this record were measured under other conditions")
        )
    out.append(("record", near(opened.folder)))
    return out


def _more_rounds(opened: Opened) -> str:
    if opened.study.budget.launches_each is None:
        return "give a larger budget"
    return f"raise budget.{'launches' if _unpaid(opened.design) else 'launches_each'}"


def _unpaid(design: Design) -> bool:
    """Whether the budget of launches ends before the rounds do."""
    return _paid_by_launches(design) < design.rounds


def _conditional(space: Space) -> list[str]:
    """What is searched only under some choices of another key, one line for each such key."""
    keys: dict[str, list[str]] = {}
    for key, condition in space.conditions.items():
        choices = " or ".join(_chosen(value) for value in condition.idle)
        words = f"not searched with {condition.by} {choices}: {condition.why} (--keep-inert searches all)"
        keys.setdefault(words, []).append(key)
    return [f"{', '.join(names)}: {words}" for words, names in keys.items()]


def _chosen(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _whole_blocks(space: Space) -> list[str]:
    """What unset takes from a deployment that has the block, where it may be read as "nothing more"."""
    out = []
    for dimension in space.dimensions:
        block = tree(space.base).get(dimension.key)
        options = dimension.parameter.options
        if isinstance(block, dict) and UNSET in options and any(isinstance(one, dict) for one in options):
            own = ", ".join(f"{name} {value}" for name, value in block.items())
            out.append(
                f"{dimension.key}: unset takes the deployment's own settings out ({own}); a block is laid "
                f"over them, and {{}} keeps them as they are"
            )
    return out


def near(path: Path) -> str:
    """A path as a user in the current folder would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def time_plan(opened: Opened, history: History) -> list[tuple[str, int, str]]:
    """(phase, launches, time) of a whole study."""
    design, each = opened.design, launch_seconds(history, opened.assumed_launch_s)
    finals = design.final_arms * _paid_by_launches(design)
    fills = launches_left(design, history) and to_fill(opened, history)
    counts = {"first": int(bool(fills)), "search": design.search_launches, "rounds": finals}
    rows = [(name, count) for name, count in counts.items() if count]
    rows.append(("together", sum(counts.values())))
    longer = longer_s(opened, history, each) if launches_left(design, history) else 0.0
    cold_rows = {rows[0][0], "together"}  # those that hold the first launch
    return [
        (name, count, duration(count * each + (longer if name in cold_rows else 0.0))) for name, count in rows
    ]


def _settings(design: Design) -> str:
    if design.mode == "search":
        keys = ", ".join(f"{item.key} ({item.size})" for item in design.space.dimensions)
        own = len(design.arms) - len(_besides(design))
        feasible = f", {own} of them distinct and feasible" if design.arms else ""
        return f"{design.space.size} combinations of {keys}{feasible}{_besides_words(design)}"
    if len(design.arms) > MOST_NAMED:
        keys = ", ".join(f"{item.key} ({item.size})" for item in design.space.dimensions)
        return f"{len(design.arms) - len(_besides(design))} of {keys}{_besides_words(design)}, listed below"
    names = []
    for arm in design.arms:
        as_is = design.as_is is not None and arm.key == design.as_is.key
        names.append(f"{arm.label} (as it stands)" if as_is and arm.label != "as it stands" else arm.label)
    return f"{len(names)}: {'; '.join(names)}"


def _besides(design: Design) -> list[str]:
    """Baselines that are launched and no choice of the space gives."""
    names = ((design.off, "speculation off"), (design.as_is, "the deployment as it stands"))
    known = {arm.key for arm in design.arms}
    return [
        name
        for arm, name in names
        if arm is not None and arm.key in known and design.space.locate(arm) is None
    ]


def _besides_words(design: Design) -> str:
    names = _besides(design)
    return f"; besides them {' and '.join(names)}" if names else ""


def _rejected(design: Design) -> list[tuple[str, str]]:
    """What costs no launch, by finding: many settings share one."""
    by_finding: dict[str, list[str]] = {}
    for label, findings in design.rejected.items():
        by_finding.setdefault(findings[0], []).append(label)
    return [
        ("not launched", f"{_some(labels)}: {finding} (--launch-anyway overrides)")
        for finding, labels in by_finding.items()
    ]


def _some(labels: Sequence[str], most: int = 4) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return "; ".join(labels[:most]) + more


def _budget(opened: Opened, plan: Plan, history: History) -> str:
    budget, done = opened.study.budget, len(history.paid())
    parts, left = [], math.inf
    if budget.launches is not None:
        short = f", too few for all of the rounds ({opened.design.total})" if _unpaid(opened.design) else ""
        parts.append(f"{budget.launches} launches{short}")
    if budget.hours is not None:
        parts.append(f"{budget.hours:g} h")
        left = budget.hours * 3600 - history.busy_s
    if budget.until is not None:
        now = time.time()
        end = until_time(budget.until, now)
        date = f"{datetime.datetime.fromtimestamp(end):%Y-%m-%d %H:%M}"
        parts.append(f"until {date}, which is in {duration(end - now)}")
        left = min(left, end - now)
    if plan.seconds > left:
        parts.append(_cut_short(opened.design, plan, left, done))
    return f"; budget {', '.join(parts)}" if parts else ""


def _cut_short(design: Design, plan: Plan, left: float, done: int) -> str:
    """What a budget that ends before the plan costs; ``done`` launches are behind it."""
    fit = done + left / plan.launch_s
    rounds = rounds_kept(design, fit)
    if design.mode == "rounds" or fit >= design.search_launches + rounds * design.final_arms:
        return "which is too short for all of the rounds"
    if fit < rounds * design.final_arms:
        return "which leaves no time for the search, nor for all of the rounds"
    return f"which cuts the search short and keeps time for {rounds} rounds"
