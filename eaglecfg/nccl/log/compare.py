"""Two logs side by side: does a setting change what NCCL chooses."""

from __future__ import annotations

from dataclasses import dataclass

from eaglecfg.nccl.log.model import Choice, NcclLog


@dataclass(frozen=True, slots=True)
class Compared:
    """One collective and message size that both logs have. ``here`` and ``there`` are what NCCL chose, with
    the number of channels; several where it did not always choose the same."""

    function: str
    bytes: int
    ranks: int | None
    here: tuple[str, ...]
    there: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether the setting changed nothing for this message."""
        return self.here == self.there


def compare(log: NcclLog, other: NcclLog) -> tuple[Compared, ...]:
    """The messages that both logs have, smallest first."""
    here, there = _chosen(log), _chosen(other)
    return tuple(
        Compared(*key, here[key], there[key])
        for key in sorted(here.keys() & there.keys(), key=lambda key: (key[0], key[1], key[2] or 0))
    )


def _chosen(log: NcclLog) -> dict[tuple[str, int, int | None], tuple[str, ...]]:
    found: dict[tuple[str, int, int | None], set[str]] = {}
    for choice in log.choices:
        found.setdefault((choice.function, choice.bytes, choice.ranks), set()).add(spelled(choice))
    return {key: tuple(sorted(value)) for key, value in found.items()}


def spelled(choice: Choice) -> str:
    """``Ring LL, 4 channels``."""
    if choice.channels is None:
        return choice.shown
    count = max(choice.channels[1] - choice.channels[0] + 1, 0)
    return f"{choice.shown}, {count} channel{'' if count == 1 else 's'}"
