"""The JSON report, version 1. Its shape is a promise: keys are added, never renamed or dropped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.rules.fingerprint import fingerprint, fingerprints
from eaglecfg.rules.model import Evidence, Fix, Severity
from eaglecfg.rules.outcome import BaselineUse, Report, Reported, Skipped, Suppressed
from eaglecfg.source.span import show_path


def to_json(report: Report, fail_on: Severity, *, version: str) -> str:
    """The report as JSON text. ``version`` is the tool's own."""
    return _dumped(as_data(report, fail_on, version=version))


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
    return _dumped(data)


def _dumped(data: dict[str, Any]) -> str:
    text = json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"
    # Half a surrogate pair stands for a byte of a file name that is no text; JSON has an escape for it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


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
            "baseline": len(report.known),
            "dropped": len(report.dropped),
            "checks": report.checks,
            "checks_with_findings": report.failed,
            "checks_undecided": report.undecided,
            "exit_code": report.exit_code(fail_on),
        },
        "findings": _listed(report.findings),
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
        "suppressed": [
            {**finding, "suppression": _suppression(each)}
            for finding, each in zip(
                _listed([each.found for each in report.accepted]), report.accepted, strict=True
            )
        ],
        "baseline": _baseline(report.baseline),
        "crashes": [
            {"rule": crash.rule and crash.rule.id, "deployment": crash.deployment, "error": crash.error}
            for crash in report.crashes
        ],
    }


def _listed(every: Sequence[Reported]) -> list[dict[str, Any]]:
    marks = fingerprints(every)
    return [finding_data(found, mark) for found, mark in zip(every, marks, strict=True)]


def _suppression(each: Suppressed) -> dict[str, Any]:
    kind = "comment" if each.inline else "file"
    start = each.span.start
    return {"kind": kind, "reason": each.reason, "line": start.line, "column": start.column}


def _baseline(use: BaselineUse | None) -> dict[str, Any] | None:
    if use is None:
        return None
    stale = [
        {
            "rule": each.rule,
            "fingerprint": each.fingerprint,
            "file": each.file,
            "deployment": each.deployment,
            "path": each.path,
            "message": each.message,
        }
        for each in use.stale
    ]
    return {"file": use.file, "known": _listed(use.known), "stale": stale}


def finding_data(found: Reported, mark: str | None = None) -> dict[str, Any]:
    """One finding as it stands under ``findings``; ``mark`` is its fingerprint where that is known."""
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
        "values": _plain(finding.values),
        "arithmetic": list(finding.arithmetic),
        "engine_today": (finding.today or found.rule.today).value,
        "why": finding.why,
        "help": finding.help,
        "fix": None if finding.fix is None else _fix(finding.fix),
        "fingerprint": mark or fingerprint(found),
    }


def _plain(value: Any) -> Any:
    """``value`` as JSON has it: no infinity, no set, keys that are text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=str)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "kind": fix.kind,
        "path": show_path(fix.path),
        "text": fix.text,
        "safe": fix.safe,
        "also": [_fix(each) for each in fix.also],
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
