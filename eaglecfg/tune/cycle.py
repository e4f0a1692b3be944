"""What a cycle of speculation is made of: one pass of the target, the draft steps, and the rest.

No engine tells its parts, but a study of several step counts shows them: the time of a cycle is a line over
the number of steps. Its slope is what one more step costs (drafting a token, and verifying it), the time of a
decode step without speculation is one pass of the target, and what is left is the rest: the draft's extend
pass, acceptance, the host. An estimate; ``misfit`` tells how straight the line is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.arm import OFF, Arm, setting
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import History, Launch
from eaglecfg.tune.ranking import arm_of


@dataclass(frozen=True, slots=True)
class Cycle:
    """The parts of a cycle at one concurrency, for settings that differ in their number of steps alone.

    ``setting`` names what they share of the searched keys, empty for the deployment's own values. Times are
    in milliseconds: ``target_ms`` is None where these settings were not measured without speculation.
    ``cycles`` maps steps to the time of a whole cycle, as measured.
    """

    setting: str
    concurrency: int
    target_ms: float | None
    step_ms: float
    base_ms: float
    cycles: Mapping[int, float]
    misfit_ms: float

    @property
    def rest_ms(self) -> float | None:
        """A cycle's time outside the target's pass and the draft steps."""
        return None if self.target_ms is None else self.base_ms - self.target_ms

    @property
    def sound(self) -> bool:
        """Whether every part takes time. Where launches scatter more than steps differ, one may not."""
        return self.step_ms > 0 and self.base_ms > 0 and (self.rest_ms is None or self.rest_ms >= 0)

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
    found = []
    for members in groups.values():
        off = offs.get(_around(members[0].deployment))
        for level in sorted({level for arm in members for level in _times(history, arm)}):
            cycle = _fit(design, history, members, off, level)
            if cycle is not None:
                found.append(cycle)
    return tuple(found)


def cycle_lines(cycles: Sequence[Cycle]) -> list[str]:
    """One sentence per cycle."""
    out = []
    for cycle in cycles:
        named = f", {cycle.setting}" if cycle.setting else ""
        head = f"Cycle at concurrency {cycle.concurrency}{named}"
        if not cycle.sound:
            out.append(
                f"{head}: not taken apart; its times at {', '.join(map(str, cycle.cycles))} steps scatter so "
                f"much that a part of it would take less than no time."
            )
            continue
        counts = ", ".join(map(str, cycle.cycles))
        fit = f"(a line through {counts} steps, {cycle.misfit_ms:.2f} ms off at worst)"
        rest, most = cycle.rest_ms, max(cycle.cycles)
        shares = cycle.shares(most)
        if rest is None or shares is None or cycle.target_ms is None:
            out.append(
                f"{head}: {cycle.base_ms:.2f} ms plus {cycle.step_ms:.2f} ms for each draft step {fit}; "
                f"the target's own pass was not measured for it."
            )
            continue
        out.append(
            f"{head}: one pass of the target {cycle.target_ms:.2f} ms, each draft step {cycle.step_ms:.2f} "
            f"ms, the rest {rest:.2f} ms {fit}; of a cycle of {most} steps that is "
            + ", ".join(f"{share:.0%}" for share in shares)
            + "."
        )
    return out


def _fit(
    design: Design, history: History, members: Sequence[Arm], off: Arm | None, level: int
) -> Cycle | None:
    """The least-squares line through the cycles of ``members`` at a concurrency."""
    cycles: dict[int, float] = {}
    for arm in members:
        shape, times = arm.deployment.speculative, _times(history, arm)
        steps = None if shape is None or isinstance(shape, str) else shape.num_steps
        if steps is not None and level in times:
            cycles[steps] = times[level]
    if len(cycles) < 2:
        return None
    middle, mean = sum(cycles) / len(cycles), sum(cycles.values()) / len(cycles)
    slope = sum((steps - middle) * (ms - mean) for steps, ms in cycles.items())
    slope /= sum((steps - middle) ** 2 for steps in cycles)
    base = mean - slope * middle
    return Cycle(
        setting=_named(members[0], design),
        concurrency=level,
        target_ms=_times(history, off).get(level) if off is not None else None,
        step_ms=slope,
        base_ms=base,
        cycles=dict(sorted(cycles.items())),
        misfit_ms=max(abs(ms - base - slope * steps) for steps, ms in cycles.items()),
    )


def _times(history: History, arm: Arm) -> dict[int, float]:
    """Milliseconds of a cycle by concurrency, pooled over an arm's launches."""
    sums: dict[int, list[float]] = {}
    for item in history.launches:
        if item.counts and item.ran == arm.key:
            _add(sums, item)
    return {level: time / weight for level, (time, weight) in sums.items() if weight}


def _add(sums: dict[int, list[float]], item: Launch) -> None:
    for level, (_, _, milliseconds, weight) in item.counters.items():
        pair = sums.setdefault(level, [0.0, 0.0])
        pair[0] += milliseconds
        pair[1] += weight


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
