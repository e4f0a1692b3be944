"""One finding, one line: for grep, problem matchers and small screens."""

from __future__ import annotations

from eaglecfg.report.styled import Line, Part, Style, line, visible
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report

_STYLE: dict[Severity, Style] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "info",
}


def render(report: Report) -> list[Line]:
    """``file:line:col: severity[id] sentence (file: key value)`` per finding, then what could not be read."""
    out: list[Line] = []
    for found in report.findings:
        first = next(iter(found.finding.evidence), None)
        behind = f" ({first.file}: {first.key} {first.text})" if first is not None else ""
        where = f"{found.document.name}:{found.span.start.line}:{found.span.start.column}: "
        head = Part(f"{found.severity}[{found.rule.id}]", _STYLE[found.severity])
        out.append(line(where, head, visible(f" {found.finding.message}{behind}")))
    for skip in report.not_checked:
        if skip.incomplete:
            out.append(
                line(
                    f"{skip.document.name}: ",
                    Part(f"not-checked[{skip.rule.id}]", "warning"),
                    f" {visible(skip.reason)}",
                )
            )
    for crash in report.crashes:
        out.append(line(Part(f"internal-error[{crash.name}]", "error"), f" {visible(crash.error)}"))
    return out
