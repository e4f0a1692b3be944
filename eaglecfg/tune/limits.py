"""Limits of an objective: ``ttft_p99_ms: 500`` and its like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eaglecfg.errors import UsageError
from eaglecfg.source.document import Document
from eaglecfg.tune.trial import Block

FORM = re.compile(r"(ttft|tpot|itl)_(p50|p95|p99)_ms")


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
                out.append(f"{name} {value:.0f} > {limit:g} at concurrency {level}")
    return tuple(out)
