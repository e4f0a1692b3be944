"""The verdict of a study in sentences, the first of which answers the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.statistics import MARGIN, Analysis, Comparison

if TYPE_CHECKING:
    from eaglecfg.tune.gains import Gain
    from eaglecfg.tune.history import Launch
    from eaglecfg.tune.rows import Row


def percent(ratio: float) -> str:
    """A factor as a signed change: 1.125 is +12.5 %."""
    return f"{(ratio - 1) * 100:+.1f} %"


WIDE = 1.0
"""Half the width of an interval, as a share, beyond which its ends mean nothing to anybody."""

AS_IT_STANDS = "the deployment as it stands"
SPECULATION_OFF = "speculation off"
"""The two baselines, as sentences name them."""

NOT_RESOLVED = "not resolved"


def interval(low: float, high: float) -> str:
    """Two factors as a signed interval; in words where it is too wide to mean anything."""
    if not resolved(low, high):
        return NOT_RESOLVED
    return f"{percent(low)[:-2]} to {percent(high)}"


def resolved(low: float, high: float) -> bool:
    """Whether an interval of two factors is narrower than plus or minus 100 %."""
    return (high - low) / 2 <= WIDE


def spread_words(spread: float, resolves: float, rounds: int) -> str:
    """What the launches of this study differ by, and what it can show for that."""
    differs = f"Launches of one setting differ by {spread * 100:.1f} %"
    if resolves > WIDE:
        return f"{differs}: with {rounds} launches a setting, no gain below a doubling is resolved."
    return f"{differs}; a gain of {resolves * 100:.1f} % would be found 4 times in 5."


def conclude(
    as_is: str | None,
    rows: Sequence[Row],
    analysis: Analysis | None,
    winner: Arm | None,
    finished: str,
    lost: Launch | None = None,
    *,
    refused: bool = False,
    absent: bool = False,
    aside: int = 0,
    barred: Sequence[str] = (),
    real: bool = True,
    more: Sequence[str] = (),
) -> tuple[str, ...]:
    """The verdict. ``as_is`` is the key of what the deployment as it stands ran, None where that is off;
    ``lost`` is the failure for which the baseline could not be measured; ``refused``: that baseline is
    speculation off, as the validator refuses the deployment as it stands; ``absent``: the deployment as it
    stands is no baseline; ``aside`` launches do not count under these conditions. ``barred`` are keys of
    settings that are faster and cannot win; ``real``: acceptance is; ``more`` are further
    sentences."""
    out: list[str] = []
    measured = [row for row in rows if row.launches]
    if not measured:
        return (_nothing_words(aside, tried=any(row.failed for row in rows)), *more)
    stands = as_is is not None and (analysis is None or analysis.baseline == as_is)
    named = AS_IT_STANDS if stands else SPECULATION_OFF
    by_key = {row.arm: row for row in rows}
    if lost is not None:
        what = "Speculation off" if refused or absent else "The deployment as it stands"
        out.append(
            f"{what} could not be measured ({lost.failure}: {lost.message}), so nothing "
            f"is shown to be faster than it; once the cause is mended, --retry-failed launches it again."
        )
    elif analysis is None:
        if not all(row.over_limit for row in measured):
            out.append(f"Too few complete rounds to compare settings with {named}: at least two are needed.")
    elif winner is None and barred:
        out.append(_barred_words([by_key[key].label for key in barred], named))
    elif winner is None:
        out.append(_no_winner(analysis, by_key, named))
    else:
        out.append(_winner_words(analysis, by_key, winner, named))
        out += _one_sided(by_key[winner.key], named)
        if analysis.best != winner.key:
            out.append(_faster_still(analysis, by_key[analysis.best], winner))
    out += _limit_words(measured, as_is if stands else _baseline_key(measured), named)
    out += _missing_words(refused=refused, absent=absent)
    if analysis is not None and len(analysis.ties) > 1:
        tied = "; ".join(by_key[key].label for key in analysis.ties)
        out.append(f"Within 2 % of the best, as far as these launches can tell: {tied}.")
    if real:
        out += _off_words(by_key.get(as_is or ""))
    out += more
    if not finished:
        out.append("The study is not finished: the same command goes on where it stopped.")
    return tuple(out)


def _nothing_words(aside: int, *, tried: bool) -> str:
    if not aside:
        return "No setting could be measured." if tried else "No setting has been measured yet."
    what = "1 launch of this record was" if aside == 1 else f"{aside} launches of this record were"
    return f"No setting has been measured under these conditions: {what} made under others and set aside."


def _missing_words(*, refused: bool, absent: bool) -> list[str]:
    """What cannot be said where the deployment as it stands was not launched."""
    if refused:
        return [
            "The deployment as it stands was not launched, so that nothing is compared with it: the "
            "validator refuses it (--launch-anyway overrides)."
        ]
    if absent:
        return [
            "The deployment as it stands is no baseline of this study: whether anything here is faster than "
            "it is not known."
        ]
    return []


def _barred_words(labels: Sequence[str], named: str) -> str:
    return (
        f"No setting of the same shape is shown to beat {named}. Faster here, with another shape: "
        f"{'; '.join(labels)}. What that is worth only real acceptance can tell."
    )


def _against(analysis: Analysis, winner: Arm) -> float:
    """The factor of the best over the winner."""
    ratios = {item.arm: item.ratio for item in analysis.comparisons} | {analysis.baseline: 1.0}
    return ratios[analysis.best] / ratios[winner.key]


def _faster_still(analysis: Analysis, best: Row, winner: Arm) -> str:
    """What is faster than the winner, and why it did not win."""
    ahead = _against(analysis, winner)
    why = "but it is not shown to beat the baseline"
    if best.over_limit:
        why = f"but it breaks a limit of the objective ({best.limit_words})"
    elif ahead <= 1 + MARGIN:
        why = f"that is within the margin of {MARGIN:.0%}, and {winner.label} is simpler"
    return f"{best.label} was measured {percent(ahead)[1:]} faster still; {why}."


def _baseline_key(rows: Sequence[Row]) -> str | None:
    """The key of speculation off, where that is what is compared with."""
    return next((row.arm for row in rows if "off" in row.role.split(", ")), None)


def _limit_words(measured: Sequence[Row], base: str | None, named: str) -> list[str]:
    """That the baseline, or every setting, breaks a limit of the objective: nothing can win then, or the
    limit is not what the deployment keeps today."""
    own = next((row for row in measured if row.arm == base), None)
    if all(row.over_limit for row in measured):
        which = f", {named} included ({own.limit_words})" if own is not None else ""
        return [
            f"Every setting that was measured breaks a limit of the objective{which}: under it nothing can "
            f"win."
        ]
    if own is not None and own.over_limit:
        return [f"{named.capitalize()} breaks a limit of the objective itself: {own.limit_words}."]
    return []


def _one_sided(row: Row, named: str) -> list[str]:
    """That the winner loses at some of the concurrencies of the objective."""
    gain = row.against_as_is if named == AS_IT_STANDS else row.against_off
    if gain is None or not gain.slower_at:
        return []
    where = slower_words(gain)
    return [
        f"{row.label} is slower than {named} at {where}: it wins by the geometric mean over the "
        f"concurrencies of the objective, in which each counts alike."
    ]


def slower_words(gain: Gain) -> str:
    """``concurrency 1 (-24.9 %)``: where a gain on the whole is a loss."""
    return " and ".join(f"concurrency {level} ({percent(ratio)})" for level, ratio in gain.slower_at.items())


def level_words(gain: Gain | None) -> str:
    """A gain by concurrency, ``-24.9 % at 1, +55.0 % at 8``; empty where there is one only."""
    if gain is None or len(gain.levels) < 2:
        return ""
    return ", ".join(f"{percent(ratio)} at {level}" for level, ratio in gain.levels.items())


def _no_winner(analysis: Analysis, by_key: Mapping[str, Row], named: str) -> str:
    best: Comparison = analysis.comparisons[0]
    if best.better and by_key[best.arm].over_limit:
        return (
            f"No setting that keeps the limits of the objective is shown to beat {named}: "
            f"{by_key[best.arm].label} came to {percent(best.ratio)} (95 % interval "
            f"{interval(best.low, best.high)}), but breaks {by_key[best.arm].limit_words}."
        )
    if not resolved(best.low, best.high):
        return (
            f"No setting is shown to beat {named}: {by_key[best.arm].label} was measured "
            f"{percent(best.ratio)}, which is not resolved with {analysis.rounds} launches a setting."
        )
    return (
        f"No setting is shown to beat {named}: the nearest, {by_key[best.arm].label}, came to "
        f"{percent(best.ratio)} (95 % interval {interval(best.low, best.high)})."
    )


def _winner_words(analysis: Analysis, by_key: Mapping[str, Row], winner: Arm, named: str) -> str:
    found = next(item for item in analysis.comparisons if item.arm == winner.key)
    row = by_key[winner.key]
    levels = level_words(row.against_as_is if named == AS_IT_STANDS else row.against_off)
    sure = f"95 % interval {interval(found.low, found.high)}"
    if not resolved(found.low, found.high):
        sure = f"by at least {percent(found.low)[1:]} with 95 % confidence"
    words = (
        f"{row.label} beats {named} by {percent(found.ratio)[1:]} ({sure}, {analysis.rounds} launches each)"
        f"{f': {levels}' if levels else ''}"
    )
    off = row.against_off
    if off is not None and named != SPECULATION_OFF:
        span = f" ({interval(off.low, off.high)})" if off.low is not None and off.high is not None else ""
        words += f", and is {percent(off.ratio)} against speculation off{span}"
    if row.limits:
        words += f"; it broke {row.limit_words}"
    return words + "."


def _off_words(as_it_stands: Row | None) -> list[str]:
    """The fault that started this project: a deployment that would be faster without its draft."""
    gain = as_it_stands.against_off if as_it_stands is not None else None
    if gain is None or gain.high is None or gain.low is None or gain.high >= 1.0:
        return []
    return [
        f"As it stands the deployment is slower than with speculation off: {percent(gain.ratio)} "
        f"({interval(gain.low, gain.high)}); eaglecfg validate and trace look for the reason."
    ]
