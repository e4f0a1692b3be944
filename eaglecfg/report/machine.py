"""The JSON report, version 1. Its shape is a promise: keys are added, never renamed or dropped."""

from __future__ import annotations

import json
from typing import Any

from eaglecfg.rules.model import Evidence, Severity
from eaglecfg.rules.outcome import Report, Reported, Skipped
from eaglecfg.source.span import show_path


def to_json(report: Report, fail_on: Severity, *, version: str) -> str:
    """The report as JSON text. ``version`` is the tool's own."""
    return (
        json.dumps(as_data(report, fail_on, version=version), indent=2, ensure_ascii=False, default=str)
        + "\n"
    )


def error_json(message: str, code: int, *, version: str) -> str:
    """What stands in place of a report where there is none: a file or an option could not be used."""
    data = {
        "version": 1,
        "tool": {"name": "eaglecfg", "version": version},
        "error": {"message": message},
        "summary": {"exit_code": code},
        "findings": [],
        "not_checked": [],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def as_data(report: Report, fail_on: Severity, *, version: str) -> dict[str, Any]:
    """The report as plain data, ready for JSON."""
    return {
        "version": 1,
        "tool": {"name": "eaglecfg", "version": version},
        "engines": list(report.engines),
        "files": [document.name for document in report.documents],
        "deployments": list(report.deployments),
        "summary": {
            "error": report.count(Severity.ERROR),
            "warning": report.count(Severity.WARNING),
            "info": report.count(Severity.INFO),
            "passed": report.passed,
            "not_checked": len(report.not_checked),
            "not_applicable": report.not_applicable,
            "suppressed": report.suppressed,
            "dropped": len(report.dropped),
            "checks": report.checks,
            "checks_with_findings": report.failed,
            "checks_undecided": report.undecided,
            "exit_code": report.exit_code(fail_on),
        },
        "findings": [finding_data(found) for found in report.findings],
        "not_checked": [
            {
                "rule": skip.rule.id,
                "slug": skip.rule.slug,
                "deployment": skip.deployment,
                "file": skip.document.name,
                "reason": skip.reason,
                "help": skip.help,
                "location": _location(skip),
                "incomplete": skip.incomplete,
            }
            for skip in report.not_checked
        ],
        "dropped": [
            {
                "rule": each.rule.id,
                "because": each.because,
                "count": each.count,
                "deployment": each.deployment,
            }
            for each in report.dropped
        ],
        "more": report.more,
        "crashes": [
            {"rule": crash.rule and crash.rule.id, "deployment": crash.deployment, "error": crash.error}
            for crash in report.crashes
        ],
    }


def finding_data(found: Reported) -> dict[str, Any]:
    """One finding as it stands under ``findings``."""
    finding = found.finding
    return {
        "rule": found.rule.id,
        "slug": found.rule.slug,
        "severity": found.severity.value,
        "message": finding.message,
        "deployment": found.deployment,
        "location": {
            "file": found.document.name,
            "line": found.span.start.line,
            "column": found.span.start.column,
            "end_line": found.span.end.line,
            "end_column": found.span.end.column,
            "path": show_path(finding.path),
        },
        "evidence": [_evidence(each) for each in finding.evidence],
        "related": [
            {"path": show_path(path), "line": found.document.place(path).value.start.line, "note": note}
            for path, note in finding.related
        ],
        "values": dict(finding.values),
        "arithmetic": list(finding.arithmetic),
        "engine_today": (finding.today or found.rule.today).value,
        "why": finding.why,
        "help": finding.help,
        "fix": None
        if finding.fix is None
        else {
            "title": finding.fix.title,
            "path": show_path(finding.fix.path),
            "text": finding.fix.text,
            "safe": finding.fix.safe,
        },
    }


def _location(skip: Skipped) -> dict[str, Any] | None:
    if skip.span is None:
        return None
    start = skip.span.start
    return {"line": start.line, "column": start.column, "path": show_path(skip.path)}


def _evidence(each: Evidence) -> dict[str, Any]:
    return {
        "file": each.file,
        "key": each.key,
        "text": each.text,
        "note": each.note,
        "line": each.line,
        "column": each.column,
    }
