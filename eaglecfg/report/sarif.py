"""SARIF 2.1.0, for code hosts: the YAML line is the place, facts of checkpoints are related places."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from eaglecfg.report.roots import Roots
from eaglecfg.report.sarif_fixes import fixes
from eaglecfg.report.sarif_rules import LEVELS, descriptors
from eaglecfg.report.styled import visible
from eaglecfg.rules.fingerprint import VERSION, fingerprints
from eaglecfg.rules.model import Evidence, Severity
from eaglecfg.rules.outcome import Report, Reported, Skipped, Stale, Suppressed
from eaglecfg.rules.sharing import Sharing
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath, Span, show_path

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
MOST_RELATED = 100
"""Related places of one result: what GitHub shows."""

MOST_LINKED = 5
"""Related places that the message links to; GitHub shows no others."""

Data = dict[str, Any]


def to_sarif(report: Report, fail_on: Severity, roots: Roots, *, version: str) -> str:
    """The report as a SARIF log. ``version`` is the tool's own."""
    every = report.every
    used = {found.rule.id: found.rule for found in every} | {s.rule.id: s.rule for s in report.not_checked}
    order = {id: index for index, id in enumerate(sorted(used))}
    writer = _Writer(report, roots, order)
    code = report.exit_code(fail_on)
    run: Data = {
        "tool": {"driver": _driver(version, descriptors([used[id] for id in order]))},
        "automationDetails": {"id": "eaglecfg/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.crashes,
                "exitCode": code,
                "toolExecutionNotifications": list(_notifications(report)),
            }
        ],
        "results": list(writer.results()),
        "properties": {
            "checks": report.checks,
            "passed": report.passed,
            "notApplicable": report.not_applicable,
            "engines": list(report.engines),
        },
    }
    return _log(run)


def error_sarif(message: str, code: int, *, version: str) -> str:
    """What stands in place of a report where there is none: a file or an option could not be used."""
    notification = {"level": "error", "message": {"text": visible(message) or "unknown"}}
    run: Data = {
        "tool": {"driver": _driver(version, [])},
        "automationDetails": {"id": "eaglecfg/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": False,
                "exitCode": code,
                "toolExecutionNotifications": [notification],
            }
        ],
        "results": [],
    }
    return _log(run)


def _log(run: Data) -> str:
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(version: str, rules: list[Data]) -> Data:
    return {"name": "eaglecfg", "version": version, "rules": rules}


def _notifications(report: Report) -> Iterator[Data]:
    for crash in report.crashes:
        where = f" (deployment {crash.deployment})" if crash.deployment is not None else ""
        text = visible(f"{crash.name} failed{where}: {crash.error}")
        yield {"level": "error", "message": {"text": text}, "exception": {"message": visible(crash.error)}}
    for rule, count in report.more.items():
        text = f"{count:,} more findings of {rule} are not listed"
        yield {"level": "note", "message": {"text": text}, "associatedRule": {"id": rule}}


class _Writer:
    """Results of one report."""

    def __init__(self, report: Report, roots: Roots, order: dict[str, int]) -> None:
        self.report = report
        self.roots = roots
        self.order = order
        self._shared: dict[str, tuple[Sharing, list[Reported]]] = {}

    def results(self) -> Iterator[Data]:
        """Findings that count, old ones, suppressed ones, ones that are gone, then open checks."""
        report = self.report
        state = {"baselineState": "new"} if report.baseline is not None else {}
        for found, mark in _marked(report.findings):
            yield self._finding(found, mark) | state
        for found, mark in _marked(report.known):
            yield self._finding(found, mark) | {"baselineState": "unchanged"}
        accepted = _marked([each.found for each in report.accepted])
        for (found, mark), each in zip(accepted, report.accepted, strict=True):
            yield self._finding(found, mark) | {"suppressions": [self._suppression(each)]} | state
        for stale in report.baseline.stale if report.baseline is not None else ():
            yield self._stale(stale)
        for skip in report.not_checked:
            yield self._open(skip) | state

    def _finding(self, found: Reported, mark: str) -> Data:
        finding = found.finding
        related = self._related(found)
        text = _unlinked(finding.message)
        links = [
            f"[{each['message']['text'].replace('[', '(').replace(']', ')')}]({each['id']})"
            for each in related
            if "physicalLocation" in each
        ]
        if links:
            stop = "" if text.endswith((".", "!", "?")) else "."
            text += f"{stop} See {', '.join(links[:MOST_LINKED])}."
        result = {
            **self._head(found.rule.id),
            "level": LEVELS[found.severity],
            "message": {"text": text},
            "locations": [self._location(found.document, found.span, finding.path)],
            "partialFingerprints": {
                f"eaglecfg/v{VERSION}": mark,
                # The one that GitHub tells alerts apart by.
                "primaryLocationLineHash": f"{mark}:1",
            },
            "properties": {
                "deployment": found.deployment,
                "engineToday": (finding.today or found.rule.today).value,
                "why": finding.why,
                "help": finding.help,
                "arithmetic": list(finding.arithmetic),
            },
        }
        if related:
            result["relatedLocations"] = related
        if finding.fix is not None and (change := self._fixes(found)):
            result["fixes"] = change
        return result

    def _fixes(self, found: Reported) -> list[Data]:
        name = found.document.name
        if name not in self._shared:
            wanted = [
                each
                for each in self.report.every
                if each.document.name == name and each.finding.fix is not None
            ]
            self._shared[name] = Sharing(found.document), wanted
        return fixes(found, self.artifact(name), *self._shared[name])

    def _head(self, rule: str) -> Data:
        return {"ruleId": rule, "ruleIndex": self.order[rule]} if rule in self.order else {"ruleId": rule}

    def _open(self, skip: Skipped) -> Data:
        where = f" (deployment {skip.deployment})" if skip.deployment is not None else ""
        return {
            **self._head(skip.rule.id),
            "kind": "open",
            "level": "none",
            "message": {"text": _unlinked(f"not checked{where}: {skip.reason}")},
            "locations": [self._location(skip.document, skip.span, skip.path)],
            "properties": {"deployment": skip.deployment, "incomplete": skip.incomplete, "help": skip.help},
        }

    def _stale(self, stale: Stale) -> Data:
        return {
            **self._head(stale.rule),
            "level": "none",
            "baselineState": "absent",
            "message": {"text": _unlinked(stale.message) or stale.rule},
            "locations": [{"physicalLocation": {"artifactLocation": self.artifact(stale.file)}}],
            "partialFingerprints": {f"eaglecfg/v{VERSION}": stale.fingerprint},
        }

    def _suppression(self, each: Suppressed) -> Data:
        out: Data = {"kind": "inSource", "status": "accepted"}
        if each.reason:
            out["justification"] = visible(each.reason)
        out["location"] = self._location(each.found.document, each.span, ())
        return out

    def _related(self, found: Reported) -> list[Data]:
        finding = found.finding
        out: list[Data] = []
        for path, note in finding.related[:MOST_RELATED]:
            place = found.document.place(path).value
            each = self._location(found.document, place, path)
            out.append({"id": len(out) + 1, **each, "message": {"text": _unlinked(note) or show_path(path)}})
        for evidence in finding.evidence[: MOST_RELATED - len(out)]:
            out.append({"id": len(out) + 1, **self._fact(evidence)})
        return out

    def _fact(self, evidence: Evidence) -> Data:
        words = f"{evidence.file} {evidence.key} {evidence.text}"
        text = _unlinked(f"{words} ({evidence.note})" if evidence.note else words)
        name = visible(evidence.key) or "value"
        out: Data = {"logicalLocations": [{"fullyQualifiedName": name}], "message": {"text": text}}
        if self.roots.holds(evidence.file):
            place: Data = {"artifactLocation": self.artifact(evidence.file)}
            if evidence.line is not None:
                place["region"] = {"startLine": evidence.line, "startColumn": evidence.column or 1}
            out["physicalLocation"] = place
        return out

    def _location(self, document: Document, span: Span | None, path: KeyPath) -> Data:
        place: Data = {"artifactLocation": self.artifact(document.name)}
        if span is not None and document.lines:
            place["region"] = region(span)
        out: Data = {"physicalLocation": place}
        if path:
            out["logicalLocations"] = [{"fullyQualifiedName": visible(show_path(path)), "kind": "property"}]
        return out

    def artifact(self, name: str) -> Data:
        """The location of a file; relative to the root where it lies in there."""
        uri = self.roots.uri(name)
        return {"uri": uri} if ":" in uri.split("/", 1)[0] else {"uri": uri, "uriBaseId": ROOT}


def region(span: Span) -> Data:
    """A span as SARIF has it: columns in code points, the end exclusive."""
    return {
        "startLine": span.start.line,
        "startColumn": span.start.column,
        "endLine": span.end.line,
        "endColumn": span.end.column,
    }


def _marked(every: Sequence[Reported]) -> list[tuple[Reported, str]]:
    return list(zip(every, fingerprints(every), strict=True))


def _unlinked(text: str) -> str:
    """``text`` on printable characters, with nothing in it that SARIF would take for a link."""
    return visible(text).replace("](", "] (")
