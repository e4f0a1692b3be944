"""One finding, one line: for grep, problem matchers and small screens."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.report.shown import STYLE_OF
from eaglecfg.report.styled import Line, Part, line, visible
from eaglecfg.rules.model import Evidence
from eaglecfg.rules.outcome import BaselineUse, Report


def render(report: Report) -> list[Line]:
    """``file:line:col: severity[id] sentence (file:line:col: key value)`` per finding.

    Behind them stands what could not be read, what was not checked though the run requires it, and entries
    of the baseline whose finding is gone. Where there are several deployments, the one that is meant stands
    in front of the sentence.
    """
    several = len(report.deployments) > 1
    out: list[Line] = []
    for found in report.findings:
        first = next(iter(found.finding.evidence), None)
        where = f"{visible(found.document.name)}:{found.span.start.line}:{found.span.start.column}: "
        head = Part(f"{found.severity}[{found.rule.id}]", STYLE_OF[found.severity])
        name = f"{found.deployment}: " if several and found.deployment else ""
        out.append(line(where, head, visible(f" {name}{found.finding.message}{_behind(first)}")))
    for rule, count in report.more.items():
        names = ", ".join(visible(document.name) for document in report.documents)
        out.append(line(f"{names}: ", Part(f"more[{rule}]", "dim"), f" {count:,} more of {rule}"))
    for skip in report.not_checked:
        if skip.incomplete or skip.rule.id in report.required:
            start = skip.span.start if skip.span is not None else None
            where = f":{start.line}:{start.column}" if start is not None else ""
            name = f"{skip.deployment}: " if several and skip.deployment else ""
            head = Part(f"not-checked[{skip.rule.id}]", "warning")
            out.append(
                line(f"{visible(skip.document.name)}{where}: ", head, visible(f" {name}{skip.reason}"))
            )
    if report.baseline is not None:
        out += _gone(report.baseline)
    for crash in report.crashes:
        out.append(line(Part(f"internal-error[{crash.name}]", "error"), f" {visible(crash.error)}"))
    return out


def _gone(use: BaselineUse) -> Iterator[Line]:
    """Entries of the baseline that can go."""
    for stale in use.stale:
        name = f"{stale.deployment}: " if stale.deployment else ""
        text = f" {stale.rule} is gone from {stale.file}: {name}{stale.message}"
        yield line(f"{visible(use.file)}: ", Part("info[baseline]", "info"), visible(text))


def _behind(first: Evidence | None) -> str:
    if first is None:
        return ""
    spot = f":{first.line}:{first.column or 1}" if first.line else ""
    return f" ({first.file}{spot}: {first.key} {first.text})"
