"""Settings of the space that a study has not launched, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from eaglecfg.tune.design import Design
from eaglecfg.tune.drift import MOST_DRIFTS
from eaglecfg.tune.history import ROUND, History
from eaglecfg.tune.ranking import arm_of

MOST_NAMED = 6
"""Settings that the sentence names; the JSON names more."""

MOST_KEPT = 100
"""Settings that the JSON names."""


@dataclass(frozen=True, slots=True)
class Unlaunched:
    """``count`` of ``of`` settings were not launched. Where the space is too large to list, both count
    combinations, whether they make a setting or not, and ``labels`` is empty."""

    count: int
    of: int
    labels: tuple[str, ...]
    why: str
    listed: bool = True


def find_unlaunched(design: Design, history: History, finished: str) -> Unlaunched | None:
    """What was never launched under these conditions; None where nothing was left out,
    or where nothing was launched at all."""
    if not history.launches:
        return None
    launched = {key for item in history.launches for key in (item.arm, item.ran)}
    why = _why(design, history, finished)
    if not design.arms:
        arms = [arm_of(design, history, key) for key in {item.arm for item in history.launches}]
        seen = sum(arm is not None and design.space.locate(arm) is not None for arm in arms)
        left = design.space.size - seen
        return Unlaunched(left, design.space.size, (), why, listed=False) if left > 0 else None
    labels = tuple(arm.label for arm in design.arms if arm.key not in launched)
    return Unlaunched(len(labels), len(design.arms), labels[:MOST_KEPT], why) if labels else None


def _why(design: Design, history: History, finished: str) -> str:
    if not finished:
        return "the study is not finished"
    if history.segment >= MOST_DRIFTS and design.mode != "rounds":
        return f"the search was cut short, as the machine's speed moved {history.segment} times"
    searched = sum(item.phase != ROUND for item in history.paid())
    in_rounds = any(item.phase == ROUND for item in history.launches)
    if design.mode == "rounds" or not in_rounds:
        return finished
    if searched < design.search_launches:
        return "the search was ended early, to keep time for the rounds"
    if design.launches is not None:
        return f"the budget of {design.launches} launches keeps {searched} for the search"
    return f"the profile {design.profile.name} keeps {searched} launches for the search"


def unlaunched_words(found: Unlaunched | None) -> list[str]:
    """One sentence, or none."""
    if found is None:
        return []
    if not found.listed:
        return [
            f"{found.of - found.count} of {found.of} combinations were launched, chosen by a sampler "
            f"({found.why}): whether one of the others is faster is not known."
        ]
    names = "; ".join(found.labels[:MOST_NAMED])
    more = found.count - min(MOST_NAMED, len(found.labels))
    names += f"; and {more} more" if more else ""
    noun = "setting" if found.of == 1 else "settings"
    were, are = (f"{noun} was", "it is") if found.count == 1 else (f"{noun} were", "they are")
    return [
        f"{found.count} of {found.of} {were} not launched ({found.why}), so that it is not known whether "
        f"{are} faster: {names}."
    ]
