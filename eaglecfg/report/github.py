"""GitHub workflow commands: annotations on the lines of a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from eaglecfg.report.counts import VERDICTS, counted, in_words
from eaglecfg.report.lacking import lacking
from eaglecfg.report.roots import STDIN, Roots
from eaglecfg.report.styled import visible
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report, Reported, Skipped
from eaglecfg.source.document import Document
from eaglecfg.source.span import Span

MOST = 10
"""Annotations of each kind that GitHub shows of one step; it drops the rest without a word."""

MOST_EVIDENCE = 5
"""Facts named in one annotation."""

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def to_github(report: Report, fail_on: Severity, roots: Roots) -> str:
    """One command a line, the worst first, then one line with the counts."""
    commands = list(_commands(report, roots))
    most = dict.fromkeys(("error", "warning", "notice"), MOST)
    if any(number > MOST for number in Counter(kind for kind, _ in commands).values()):
        most["notice"] -= 1  # the line that says how many are left
    out, shown, left = [], Counter[str](), Counter[str]()
    for kind, text in commands:
        shown[kind] += 1
        if shown[kind] <= most[kind]:
            out.append(text)
        else:
            left[kind] += 1
    if left:
        rest = " and ".join(counted(number, f"more {kind}") for kind, number in left.items())
        text = f"{rest} beyond what GitHub shows of one step; another format lists all"
        out.append(f"::notice title=eaglecfg::{_data(text)}")
    code = report.exit_code(fail_on)
    why = f"{visible(lacking(report))}: " if code == 3 else ""
    out.append(f"eaglecfg: {VERDICTS[code]} (exit {code}): {why}{in_words(report)}")
    return "\n".join(out) + "\n"


def error_github(message: str) -> str:
    """What stands in place of a report where there is none."""
    return f"::error title=eaglecfg::{_data(visible(message))}\n"


def _commands(report: Report, roots: Roots) -> Iterator[tuple[str, str]]:
    for crash in report.crashes:
        text = f"{crash.name} failed, a fault of eaglecfg: {crash.error}"
        yield "error", f"::error title=eaglecfg::{_data(visible(text))}"
    rank = [Severity.ERROR, Severity.WARNING, Severity.INFO]
    for found in sorted(report.findings, key=lambda found: rank.index(found.severity)):
        kind = _COMMAND[found.severity]
        yield kind, f"::{kind} {_finding(report, found, roots)}"
    for skip in report.not_checked:
        if skip.incomplete or skip.rule.id in report.required:
            yield "warning", f"::warning {_skipped(report, skip, roots)}"
    use = report.baseline
    if use is not None and use.stale:
        rules = ", ".join(sorted({stale.rule for stale in use.stale}))
        text = f"{counted(len(use.stale), 'finding')} in it gone ({rules}); write it anew"
        file = _property(visible(roots.shown(use.file)))
        yield "notice", f"::notice file={file},title=eaglecfg baseline::{_data(visible(text))}"


def _finding(report: Report, found: Reported, roots: Roots) -> str:
    finding = found.finding
    lines = [_named(report, found.deployment) + visible(finding.message)]
    for each in finding.evidence[:MOST_EVIDENCE]:
        at = f":{each.line}" if each.line else ""
        lines.append(visible(f"{each.file}{at}: {each.key} {each.text}"))
    lines += [f"help: {visible(finding.help)}"] if finding.help else []
    title = f"{found.rule.id} {found.rule.slug}"
    return f"{_place(found.document, found.span, title, roots)}::{_data(chr(10).join(lines))}"


def _skipped(report: Report, skip: Skipped, roots: Roots) -> str:
    lines = [_named(report, skip.deployment) + visible(f"not checked: {skip.reason}")]
    lines += [f"help: {visible(skip.help)}"] if skip.help else []
    title = f"{skip.rule.id} {skip.rule.slug}"
    return f"{_place(skip.document, skip.span, title, roots)}::{_data(chr(10).join(lines))}"


def _named(report: Report, deployment: str | None) -> str:
    return visible(f"{deployment}: ") if deployment is not None and len(report.deployments) > 1 else ""


def _place(document: Document, span: Span | None, title: str, roots: Roots) -> str:
    if document.name == STDIN:
        return f"title={_property(title)}"
    parts = {"file": visible(roots.shown(document.name))}
    if span is not None and document.lines:
        start, end = span.start, span.end
        parts |= {"line": str(start.line), "endLine": str(max(start.line, end.line))}
        # Columns of a range over several lines make GitHub refuse the annotation.
        if start.line == end.line:
            parts |= {"col": str(start.column), "endColumn": str(max(start.column, end.column))}
    parts["title"] = title
    return ",".join(f"{name}={_property(value)}" for name, value in parts.items())


def _data(text: str) -> str:
    """``text`` as the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """``text`` as the value of a property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
