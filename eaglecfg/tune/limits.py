"""Limits of an objective: ``ttft_p99_ms: 500`` and its like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eaglecfg.errors import UsageError
from eaglecfg.source.document import Document
from eaglecfg.tune.trial import Block

if TYPE_CHECKING:
    from eaglecfg.tune.history import Launch

FORM = re.compile(r"(ttft|tpot|itl)_(p50|p95|p99)_ms")
WORDS = re.compile(r"(?P<name>\w+) (?P<value>\S+) > (?P<limit>\S+) at concurrency (?P<level>\d+)")
"""A broken limit as the ledger has it."""


def read_limits(limits: Mapping[str, float], document: Document) -> None:
    """Raise UsageError for a limit on something that is not measured."""
    for name in limits:
        if not FORM.fullmatch(name):
            start = document.place(("objective", "limits", name)).value.start
            raise UsageError(
                f"{document.name}:{start.line}:{start.column}: objective.limits.{name}: expected "
                f"ttft, tpot or itl with p50, p95 or p99, such as ttft_p99_ms."
            )


def broken_limits(limits: Mapping[str, float], blocks: Sequence[Block]) -> tuple[str, ...]:
    """Limits that a launch broke, in words. Its value is the mean of its blocks, weighted by requests."""
    out = []
    for name, limit in limits.items():
        what, percentile, _ = name.split("_")
        for level in sorted({block.concurrency for block in blocks}):
            rows = [
                (float(getattr(block, f"{what}_ms").get(percentile, 0.0)), block.requests)
                for block in blocks
                if block.concurrency == level
            ]
            value = sum(ms * weight for ms, weight in rows) / max(1, sum(weight for _, weight in rows))
            if value > limit:
                out.append(f"{name} {above(value, limit)} > {limit:g} at concurrency {level}")
    return tuple(out)


def above(value: float, limit: float) -> str:
    """A value over a limit with as many digits as show that it is."""
    least = 0 if value >= 100 else 1 if value >= 10 else 2
    texts = (f"{value:.{digits}f}" for digits in range(least, 16))
    return next((text for text in texts if float(text) > limit), repr(value))


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A limit of the objective that ``broken`` of ``launches`` launches of a setting broke at a concurrency.
    ``worst`` is the highest value (ms)."""

    name: str
    concurrency: int
    limit: float
    worst: float
    broken: int
    launches: int

    @property
    def words(self) -> str:
        """The value against the limit, and how often."""
        times = f"{self.broken} of {self.launches} launches"
        return (
            f"{self.name} {above(self.worst, self.limit)} > {self.limit:g} at concurrency "
            f"{self.concurrency}, in {times}"
        )


def over_limits(launches: Sequence[Launch]) -> tuple[OverLimit, ...]:
    """What good launches of one setting broke, a row for each limit and concurrency. Where the record has
    the percentiles themselves, they are taken rather than what was written of them."""
    found: dict[tuple[str, int, float], list[float]] = {}
    for item in launches:
        for text in item.limits:
            if (parts := WORDS.fullmatch(text)) is None:
                continue
            name, level, limit = parts["name"], int(parts["level"]), float(parts["limit"])
            known = item.latency.get(level, {}).get(name.removesuffix("_ms"), 0.0)
            value = known if known > limit else float(parts["value"])
            found.setdefault((name, level, limit), []).append(value)
    return tuple(
        OverLimit(name, level, limit, max(values), len(values), len(launches))
        for (name, level, limit), values in found.items()
    )
