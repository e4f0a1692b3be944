"""What servers made of settings by themselves: told with the setting, or once where all share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.tune.arm import spelled
from eaglecfg.tune.history import History, Launch
from eaglecfg.tune.space import Space

Pair = tuple[str, Any, Any]
"""A flag with what was asked for and what ran."""


def pairs_of(item: Launch) -> list[Pair]:
    """The rewrites of one launch."""
    return [(flag, asked, ran) for flag, (asked, ran) in item.rewritten.items()]


def shared_rewrites(history: History) -> list[Pair]:
    """Rewrites seen in every good launch, of more settings than one: they tell no setting from another."""
    good = [item for item in history.launches if item.counts]
    if len({item.arm for item in good}) < 2:
        return []
    return [pair for pair in pairs_of(good[0]) if all(pair in pairs_of(item) for item in good)]


def own_rewrites(space: Space, launches: Sequence[Launch], key: str, shared: Sequence[Pair]) -> list[str]:
    """What the server made of ``launches`` that ran ``key``, apart from what all settings share and from
    what makes the setting another one: that is told with the one that was asked for."""
    good = [item for item in launches if item.counts and item.ran == key]
    searched = {spelled(path)[-1] for path in space.searched}
    counts: dict[str, int] = {}
    for item in good:
        for pair in pairs_of(item):
            moved = item.arm != key and (pair[0] in searched or pair[0].startswith("speculative_"))
            if pair not in shared and not moved:
                counts[rewrite_words(pair)] = counts.get(rewrite_words(pair), 0) + 1
    return [
        words if count == len(good) else f"{words} (in {count} of {len(good)} launches)"
        for words, count in counts.items()
    ]


def rewrite_words(pair: Pair) -> str:
    """``max_running_requests 16 -> 4``."""
    flag, asked, ran = pair
    return f"{flag} {asked} -> {ran}"


def shared_words(shared: Sequence[Pair]) -> list[str]:
    """One sentence on what all settings share, or none."""
    if not shared:
        return []
    return [f"The server rewrites with every setting: {', '.join(map(rewrite_words, shared))}."]


def verdict_words(rows: Mapping[str, Sequence[str]]) -> list[str]:
    """What the verdict says of the settings that it compares: rewrites by name of the setting."""
    return [
        f"The server did not run {name} as it was asked to ({'; '.join(words)}): what is measured, and what "
        f"is compared, is what ran."
        for name, words in rows.items()
        if words
    ]
