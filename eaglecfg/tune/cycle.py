"""What a cycle of speculation is made of: one pass of the target, the draft steps, and the rest.

No engine tells its parts, but a study of several step counts shows them: the time of a cycle is a line over
the number of steps. Its slope is what one more step costs (drafting a token, and verifying it), the time of a
decode step without speculation is one pass of the target, and what is left is the rest: the draft's extend
pass, acceptance, the host. An estimate; ``misfit`` tells how straight the line is.

A machine's speed wanders between rounds, often by more than a step takes, and a slow one stretches every
part. So each complete round gives parts of its own; their mean is told, with an interval by t over rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.arm import OFF, Arm, setting
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import History, Launch
from eaglecfg.tune.ranking import arm_of, compared_launches
from eaglecfg.tune.statistics import mean, t_quantile, variance

Launches = Mapping[str, Sequence[Launch]]
"""By what ran."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """The parts of a cycle at one concurrency, for settings that differ in their number of steps alone.

    ``setting`` names what they share of the searched keys, empty for the deployment's own values. Times are
    in milliseconds: ``target_ms`` is None where these settings were not measured without speculation.
    ``cycles`` maps steps to the time of a whole cycle, as measured. ``paired``: it is of complete rounds,
    else of launches of different times. ``target_reach``, ``step_reach`` and ``rest_reach`` are half of a
    95 % interval (the last of ``base_ms`` where there is no ``target_ms``), None without two rounds.
    """

    setting: str
    concurrency: int
    target_ms: float | None
    step_ms: float
    base_ms: float
    cycles: Mapping[int, float]
    misfit_ms: float
    paired: bool
    target_reach: float | None
    step_reach: float | None
    rest_reach: float | None

    @property
    def rest_ms(self) -> float | None:
        """A cycle's time outside the target's pass and the draft steps."""
        return None if self.target_ms is None else self.base_ms - self.target_ms

    @property
    def scattered(self) -> bool:
        """Whether a step's interval reaches beyond nothing: launches scatter more than steps differ."""
        return self.step_reach is not None and abs(self.step_ms) <= self.step_reach

    @property
    def sound(self) -> bool:
        """Whether every part takes time, a step by its whole interval."""
        return (
            not self.scattered
            and min(self.step_ms, self.base_ms) > 0
            and (self.rest_ms is None or self.rest_ms >= 0)
        )

    def shares(self, steps: int) -> tuple[float, float, float] | None:
        """Shares of target, draft steps and rest in a cycle of ``steps``."""
        whole = self.base_ms + steps * self.step_ms
        if self.target_ms is None or whole <= 0:
            return None
        return self.target_ms / whole, steps * self.step_ms / whole, (self.base_ms - self.target_ms) / whole


def find_cycles(design: Design, history: History) -> tuple[Cycle, ...]:
    """The cycles that the launches so far show; none without two step counts of one setting."""
    keys = list(dict.fromkeys(item.ran for item in history.launches if item.counts))
    arms = [arm for key in keys if (arm := arm_of(design, history, key)) is not None]
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(_shared(arm.deployment), []).append(arm)
    offs = {_around(arm.deployment): arm for arm in arms if arm.deployment.speculative == OFF}
    rounds = compared_launches(design, history)
    found = []
    for members in groups.values():
        off = offs.get(_around(members[0].deployment))
        shared = {arm.key: rounds[arm.key] for arm in members if rounds.get(arm.key)}
        paired = sum(_steps(arm) is not None for arm in members if arm.key in shared) > 1
        if paired and off is not None and rounds.get(off.key):
            shared[off.key] = rounds[off.key]
        used = shared if paired else _all_launches(history, (*members, *([off] if off else [])))
        for level in sorted({level for row in used.values() for item in row for level in item.counters}):
            cycle = _fit(_named(members[0], design), members, off, used, level, paired=paired)
            if cycle is not None:
                found.append(cycle)
    return tuple(found)


def cycle_lines(cycles: Sequence[Cycle]) -> list[str]:
    """One sentence per cycle; none for one of a single round, which tells nothing of how sure it is."""
    return [_line(cycle) for cycle in cycles if cycle.step_reach is not None or not cycle.paired]


def _line(cycle: Cycle) -> str:
    named = f", {cycle.setting}" if cycle.setting else ""
    head = f"Cycle at concurrency {cycle.concurrency}{named}"
    counts = ", ".join(map(str, cycle.cycles))
    step = f"{cycle.step_ms:.2f}{_interval(cycle.step_reach)} ms"
    if cycle.scattered:
        return f"{head}: not taken apart; launches scatter so much that a draft step would come to {step}."
    if not cycle.sound:
        return (
            f"{head}: not taken apart; its times at {counts} steps scatter so much that a part of it would "
            "take less than no time."
        )
    fit = f"a line through {counts} steps"
    fit += f", {cycle.misfit_ms:.2f} ms off at worst" if len(cycle.cycles) > 2 else ""
    fit += "" if cycle.paired else ", of launches of different times, so without an interval"
    rest, most = cycle.rest_ms, max(cycle.cycles)
    shares = cycle.shares(most)
    if rest is None or shares is None or cycle.target_ms is None:
        return (
            f"{head}: {cycle.base_ms:.2f}{_interval(cycle.rest_reach)} ms plus {step} for each draft step "
            f"({fit}); the target's own pass was not measured for it."
        )
    told = rest > (cycle.rest_reach or 0.0)  # no share of what may be nothing
    parts = (
        f"; of a cycle of {most} steps that is {', '.join(f'{share:.0%}' for share in shares)}"
        if told
        else ""
    )
    return (
        f"{head}: one pass of the target {cycle.target_ms:.2f}{_interval(cycle.target_reach)} ms, each draft "
        f"step {step}, the rest {rest:.2f}{_interval(cycle.rest_reach)} ms ({fit}){parts}."
    )


def _interval(half: float | None) -> str:
    """Half an interval, rounded up: never shown narrower than it is."""
    return "" if half is None else f" ± {math.ceil(half * 100 - 1e-6) / 100:.2f}"


def _steps(arm: Arm) -> int | None:
    shape = arm.deployment.speculative
    return None if shape is None or isinstance(shape, str) else shape.num_steps


def _fit(
    name: str, members: Sequence[Arm], off: Arm | None, used: Launches, level: int, *, paired: bool
) -> Cycle | None:
    """The least-squares line through the cycles of ``members`` at a concurrency."""
    times = {key: row for key in used if (row := _times(used[key], level))}
    rows = {
        steps: times[arm.key] for arm in members if (steps := _steps(arm)) is not None and arm.key in times
    }
    if len(rows) < 2:
        return None
    paired = paired and len({len(row) for row in times.values()}) == 1  # a launch may lack counters
    alone = times.get(off.key, []) if off is not None else []
    cycles = {steps: mean(rows[steps]) for steps in sorted(rows)}
    step, base = _line_through(cycles)
    each = []  # a round's own parts: target, step, rest
    for index in range(len(next(iter(rows.values()))) if paired else 0):
        slope, start = _line_through({steps: rows[steps][index] for steps in cycles})
        target = alone[index] if alone else 0.0
        each.append((target, slope, start - target))
    target_reach, step_reach, rest_reach = map(_reach, zip(*each, strict=True)) if each else (None,) * 3
    return Cycle(
        setting=name,
        concurrency=level,
        target_ms=mean(alone) if alone else None,
        step_ms=step,
        base_ms=base,
        cycles=cycles,
        misfit_ms=max(abs(ms - base - step * steps) for steps, ms in cycles.items()),
        paired=paired,
        target_reach=target_reach if alone else None,
        step_reach=step_reach,
        rest_reach=rest_reach,
    )


def _line_through(cycles: Mapping[int, float]) -> tuple[float, float]:
    """Slope and value at no steps of the least-squares line through times by steps."""
    middle, centre = mean(list(cycles)), mean(list(cycles.values()))
    slope = math.fsum((steps - middle) * (ms - centre) for steps, ms in cycles.items())
    slope /= math.fsum((steps - middle) ** 2 for steps in cycles)
    return slope, centre - slope * middle


def _reach(values: Sequence[float]) -> float | None:
    """Half of the 95 % interval of a mean over rounds; None for one round."""
    if len(values) < 2:
        return None
    return t_quantile(0.975, len(values) - 1) * math.sqrt(variance(values) / len(values))


def _times(launches: Iterable[Launch], level: int) -> list[float]:
    """Milliseconds of a cycle at a concurrency, launch by launch."""
    found = []
    for item in launches:
        _, _, milliseconds, weight = item.counters.get(level, (0, 0, 0.0, 0.0))
        if weight:
            found.append(milliseconds / weight)
    return found


def _all_launches(history: History, arms: Iterable[Arm]) -> Launches:
    return {
        arm.key: [item for item in history.launches if item.counts and item.ran == arm.key] for arm in arms
    }


def _shared(deployment: Deployment) -> str:
    """What settings have in common that differ in their steps alone. Their draft tokens follow the steps."""
    shape = deployment.speculative
    if shape is None or isinstance(shape, str):
        return f"{_around(deployment)} {shape}"
    return f"{_around(deployment)} {shape.algorithm} {shape.eagle_topk}"


def _around(deployment: Deployment) -> str:
    """A deployment without its speculation, as text."""
    return repr(deployment.model_copy(update={"speculative": None}))


def _named(arm: Arm, design: Design) -> str:
    """The searched values outside speculation."""
    searched = {key for key in design.space.searched if setting(key)[0] != "speculative"}
    return ", ".join(f"{key} {value}" for key, value in arm.values.items() if key in searched)
