"""What a machine can show: the baseline launched a few times afresh, before a night is spent on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from eaglecfg.tune.conclusion import WIDE, percent
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import CHECK, History, Launch
from eaglecfg.tune.schedule import Finished, Step, Wanted, repeats, same_failures
from eaglecfg.tune.statistics import mean, resolvable, t_quantile, variance

LAUNCHES = 4
"""Fresh launches of a check, unless asked otherwise."""

COUNTS = (3, 5, 8, 16)
"""Launches a setting for which a check tells what gain they find."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """With ``launches`` a setting, ``gain`` (a share) is found 4 times in 5; ``at_worst`` is the same for the
    upper end of the interval of the spread."""

    launches: int
    gain: float
    at_worst: float


@dataclass(frozen=True, slots=True)
class Check:
    """What fresh launches of one setting differ by. Spreads are standard deviations as shares.

    ``low`` and ``high`` bound the launch spread with 95 % confidence. ``block_spread`` is that of blocks of
    the same prompts within a launch, None where a launch has one block only. ``drift`` is the change of speed
    from one launch to the next, with its 95 % interval; None below three launches. ``settings`` is the number
    of settings compared in the study's rounds.
    """

    label: str
    launches: int
    spread: float
    low: float
    high: float
    block_spread: float | None
    drift: tuple[float, float, float] | None
    settings: int
    resolves: tuple[Resolved, ...]


def next_check(design: Design, history: History, count: int, since: int = 0) -> Step:
    """The next launch of a check of ``count`` launches; ``since`` is the last launch before this session."""
    own = replace(history, launches=history.checks)
    baseline = design.baseline
    if baseline is None:
        return Finished("no baseline may be launched: the validator refuses them", broken=True)
    if trouble := same_failures(own, since):
        return Finished(trouble, broken=True)
    last = own.launches[-1] if own.launches else None
    if last is not None and repeats(own, last):
        return Wanted(baseline, CHECK, last.round, again=last.failure)
    if baseline.key in own.condemned():
        failed = own.condemned()[baseline.key]
        mended = "once the cause is mended, --retry-failed launches it again"
        return Finished(f"{baseline.label} cannot be launched: {failed.message}; {mended}", broken=True)
    done = len(good_checks(history))
    if done >= count:
        return Finished(f"{done} launches of {baseline.label} are done")
    return Wanted(baseline, CHECK, done)


def good_checks(history: History) -> list[Launch]:
    """Launches of the check that gave numbers, in order."""
    return [item for item in history.checks if item.ok]


def make_check(design: Design, history: History) -> Check | None:
    """What the check's launches show so far; None below two."""
    good = good_checks(history)
    if len(good) < 2 or design.baseline is None:
        return None
    scores = [item.score for item in good]
    spread = math.sqrt(variance(scores))
    low, high = spread_interval(spread, len(scores) - 1)
    settings = max(design.final_arms, 2)
    return Check(
        label=design.baseline.label,
        launches=len(good),
        spread=spread,
        low=low,
        high=high,
        block_spread=block_spread(good),
        drift=slope(scores),
        settings=settings,
        resolves=tuple(
            Resolved(count, resolvable(spread, count, settings), resolvable(high, count, settings))
            for count in COUNTS
        ),
    )


def spread_interval(spread: float, freedom: int) -> tuple[float, float]:
    """95 % interval of a standard deviation that was estimated with ``freedom`` degrees of freedom."""
    from scipy.special import chdtri

    return (
        spread * math.sqrt(freedom / float(chdtri(freedom, 0.025))),
        spread * math.sqrt(freedom / float(chdtri(freedom, 0.975))),
    )


def block_spread(launches: Sequence[Launch]) -> float | None:
    """Standard deviation of a block within its launch, what launches and prompts make of it taken out."""
    squares, freedom = 0.0, 0
    for level in {level for item in launches for level in item.blocks}:
        rows = [item.blocks[level] for item in launches if level in item.blocks]
        width = min(map(len, rows))
        if width < 2 or len(rows) < 2:
            continue
        columns = [mean([row[place] for row in rows]) for place in range(width)]
        whole = mean(columns)
        for row in rows:
            own = mean(row[:width])
            squares += math.fsum((row[k] - own - columns[k] + whole) ** 2 for k in range(width))
        freedom += (len(rows) - 1) * (width - 1)
    return math.sqrt(squares / freedom) if freedom else None


def slope(scores: Sequence[float]) -> tuple[float, float, float] | None:
    """Change of log speed from one launch to the next, by least squares, with its 95 % interval."""
    count = len(scores)
    if count < 3:
        return None
    centre, middle = mean(scores), (count - 1) / 2
    across = math.fsum((place - middle) ** 2 for place in range(count))
    steep = math.fsum((place - middle) * score for place, score in enumerate(scores)) / across
    rest = [score - centre - steep * (place - middle) for place, score in enumerate(scores)]
    error = math.sqrt(math.fsum(value**2 for value in rest) / (count - 2) / across)
    reach = t_quantile(0.975, count - 2) * error
    return steep, steep - reach, steep + reach


def check_lines(check: Check) -> list[str]:
    """The check in a few lines."""
    spread = f"{check.spread * 100:.1f} % ({check.low * 100:.1f} to {check.high * 100:.1f} %, 95 % interval)"
    lines = [
        f"machine check: {check.launches} fresh launches of {check.label}",
        f"  launches differ by  {spread}, standard deviation of their speed",
    ]
    if check.block_spread is not None:
        lines.append(
            f"  blocks differ by    {check.block_spread * 100:.1f} % within a launch, for the same prompts"
        )
    if check.drift is not None:
        steep, low, high = (percent(math.exp(value)) for value in check.drift)
        shown = "" if check.drift[1] > 0 or check.drift[2] < 0 else ": none is shown"
        lines.append(f"  drift               {steep} a launch ({low[:-2]} to {high}, 95 % interval){shown}")
    lines += ["", f"the gain that is found 4 times in 5, among {check.settings} settings"]
    lines.append(f"  launches a setting  as measured  if launches differ by {check.high * 100:.1f} %")
    for row in check.resolves:
        lines.append(f"  {row.launches:>18}  {gain(row.gain):>11}  {gain(row.at_worst)}")
    return lines


def finite(data: Any) -> Any:
    """Plain data for JSON, which knows no infinity: None stands for a gain that is never found."""
    if isinstance(data, dict):
        return {name: finite(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def gain(share: float) -> str:
    """A gain that can be found, in words where it is too large to mean anything."""
    return f"{share * 100:.1f} %" if share <= WIDE else "more than a doubling"
