"""What is wrong with a machine: one record for each fault, the worst first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from eaglecfg.record import record

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Error: a server will not start, or will not run as configured. Warning: it will be slower, or something is
likely not meant. Info: worth knowing."""


@record
class Finding:
    """``code`` is its name for programs; ``message`` one sentence; ``help`` what to do."""

    code: str
    severity: Severity
    message: str
    help: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Sorted by severity; in the order of the look within one."""
    return sorted(findings, key=lambda one: SEVERITIES.index(one.severity))


def reaches(findings: list[Finding], least: str) -> bool:
    """Whether there is a finding of severity ``least`` or above."""
    return any(SEVERITIES.index(one.severity) <= SEVERITIES.index(least) for one in findings)
