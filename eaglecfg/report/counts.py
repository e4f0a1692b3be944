"""The counts of a report in words, for formats that have one line for them."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report

VERDICTS = {0: "OK", 1: "FAIL", 2: "UNREADABLE", 3: "INCOMPLETE", 4: "INTERNAL ERROR"}
"""Exit code to the word for it."""


def counted(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def in_words(report: Report) -> str:
    """``2 errors, 1 warning, 0 info, 3 not checked``; what is zero and no finding is left out."""
    parts = [
        counted(report.count(Severity.ERROR), "error"),
        counted(report.count(Severity.WARNING), "warning"),
        f"{report.count(Severity.INFO):,} info",
    ]
    parts += set_aside(report)
    parts += [f"{len(report.not_checked):,} not checked"] if report.not_checked else []
    parts += [f"{sum(report.more.values()):,} not listed"] if report.more else []
    parts += [counted(len(report.crashes), "crash").replace("crashs", "crashes")] if report.crashes else []
    return ", ".join(parts)


def set_aside(report: Report) -> Sequence[str]:
    """Findings that do not count, in words: suppressed, in the baseline, gone from there."""
    parts = [f"{report.suppressed:,} suppressed"] if report.suppressed else []
    if report.baseline is not None:
        parts.append(f"{len(report.known):,} in the baseline")
        parts += [f"{len(report.baseline.stale):,} gone from there"] if report.baseline.stale else []
    return parts
