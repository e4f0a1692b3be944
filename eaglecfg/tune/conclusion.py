"""The verdict of a study in sentences, the first of which answers the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.statistics import MARGIN, Analysis, Comparison

if TYPE_CHECKING:
    from eaglecfg.tune.history import Launch
    from eaglecfg.tune.results import Row


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
) -> tuple[str, ...]:
    """The verdict. ``as_is`` is the key of what the deployment as it stands ran, None where that is off;
    ``lost`` is the failure for which the baseline could not be measured; ``refused``: that baseline is
    speculation off, as the validator refuses the deployment as it stands; ``absent``: the deployment as it
    stands is no baseline; ``aside`` launches do not count under these conditions. ``barred`` are keys of
    settings that are faster and cannot win; ``real``: acceptance is."""
    out: list[str] = []
    measured = [row for row in rows if row.launches]
    if not measured:
        return (_nothing_words(aside),)
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
        out.append(f"Too few complete rounds to compare settings with {named}: at least two are needed.")
    elif winner is None and barred:
        out.append(_barred_words([by_key[key].label for key in barred], named))
    elif winner is None:
        out.append(_no_winner(analysis, by_key, named))
    else:
        out.append(_winner_words(analysis, by_key, winner, named))
        best = by_key[analysis.best]
        if analysis.best != winner.key:
            ahead = _against(analysis, winner)
            why = f"that is within the margin of {MARGIN:.0%}, and {winner.label} is simpler"
            if ahead > 1 + MARGIN:
                why = "but it breaks a limit of the objective, or is not shown to beat the baseline"
            out.append(f"{best.label} was measured {percent(ahead)[1:]} faster still; {why}.")
    out += _missing_words(refused=refused, absent=absent)
    if analysis is not None and len(analysis.ties) > 1:
        tied = ", ".join(by_key[key].label for key in analysis.ties)
        out.append(f"Within 2 % of the best, as far as these launches can tell: {tied}.")
    if real:
        out += _off_words(by_key.get(as_is or ""))
    if not finished:
        out.append("The study is not finished: the same command goes on where it stopped.")
    return tuple(out)


def _nothing_words(aside: int) -> str:
    if not aside:
        return "No setting could be measured."
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
        f"{', '.join(labels)}; what that is worth only real acceptance can tell."
    )


def _against(analysis: Analysis, winner: Arm) -> float:
    """The factor of the best over the winner."""
    ratios = {item.arm: item.ratio for item in analysis.comparisons} | {analysis.baseline: 1.0}
    return ratios[analysis.best] / ratios[winner.key]


def _no_winner(analysis: Analysis, by_key: Mapping[str, Row], named: str) -> str:
    best: Comparison = analysis.comparisons[0]
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
    sure = f"95 % interval {interval(found.low, found.high)}"
    if not resolved(found.low, found.high):
        sure = f"by at least {percent(found.low)[1:]} with 95 % confidence"
    words = (
        f"{row.label} beats {named} by {percent(found.ratio)[1:]} ({sure}, {analysis.rounds} launches each)"
    )
    off = row.against_off
    if off is not None and named != SPECULATION_OFF:
        span = f" ({interval(off.low, off.high)})" if off.low is not None and off.high is not None else ""
        words += f", and is {percent(off.ratio)} against speculation off{span}"
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
