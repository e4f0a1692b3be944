"""GitLab's Code Quality report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from eaglecfg.report.roots import Roots
from eaglecfg.report.styled import visible
from eaglecfg.rules.fingerprint import fingerprints
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.source.document import Document
from eaglecfg.source.span import Span

_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}
INCOMPLETE = "major"
CRASHED = "blocker"

Issue = dict[str, Any]


def to_gitlab(report: Report, roots: Roots) -> str:
    """A JSON array with one issue a finding, and one for each check that could not be made as asked."""
    return json.dumps(list(_issues(report, roots)), indent=2) + "\n"


def error_gitlab(message: str, file: str, roots: Roots) -> str:
    """What stands in place of a report where there is none: one issue, at ``file``."""
    issue = _issue("eaglecfg", visible(message), CRASHED, visible(roots.shown(file)), None, message)
    return json.dumps([issue], indent=2) + "\n"


def _issues(report: Report, roots: Roots) -> Iterator[Issue]:
    several = len(report.deployments) > 1

    def path(document: Document) -> str:
        return visible(roots.shown(document.name))

    for crash in report.crashes:
        text = visible(f"{crash.name} failed, a fault of eaglecfg: {crash.error}")
        file = path(report.documents[0]) if report.documents else "eaglecfg.yaml"
        yield _issue(crash.name, text, CRASHED, file, None, crash.name, crash.deployment)
    for found, mark in zip(report.findings, fingerprints(report.findings), strict=True):
        name = f"{found.rule.id} {found.rule.slug}"
        where = f" ({found.deployment})" if several and found.deployment is not None else ""
        text = visible(f"{name}{where}: {found.finding.message}")
        span = found.span if found.document.lines else None
        yield _issue(name, text, _SEVERITY[found.severity], path(found.document), span, mark)
    for skip in report.not_checked:
        if skip.incomplete or skip.rule.id in report.required:
            name = f"{skip.rule.id} {skip.rule.slug}"
            text = visible(f"{name} not checked: {skip.reason}")
            span = skip.span if skip.document.lines else None
            yield _issue(
                name, text, INCOMPLETE, path(skip.document), span, name, skip.deployment, skip.reason
            )


def _issue(name: str, text: str, severity: str, path: str, span: Span | None, *parts: str | None) -> Issue:
    # GitLab takes two issues with one fingerprint for one, whatever file they are in.
    mark = hashlib.sha256(json.dumps([path, *parts]).encode("ascii")).hexdigest()[:32]
    lines = (
        {"begin": 1}
        if span is None
        else {"begin": span.start.line, "end": max(span.start.line, span.end.line)}
    )
    return {
        "description": text,
        "check_name": name,
        "fingerprint": mark,
        "severity": severity,
        "location": {"path": path, "lines": lines},
    }
