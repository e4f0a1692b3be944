"""The report that a person reads: every finding with its text, its evidence, its arithmetic and a way out."""

from __future__ import annotations

from itertools import groupby

from eaglecfg.report.snippet import Mark, snippet
from eaglecfg.report.styled import Line, Part, Style, cells, line, visible, wrapped
from eaglecfg.rules.model import Evidence, Rule, Severity
from eaglecfg.rules.outcome import Report, Reported, Skipped

WIDTH = 110
"""Columns to which prose is wrapped when the terminal does not say."""

_STYLE: dict[Severity, Style] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "info",
}


def render(report: Report, fail_on: Severity, *, version: str, width: int = WIDTH) -> list[Line]:
    """The whole report. ``version`` is the tool's own; ``width`` the columns to wrap prose to."""
    out: list[Line] = [_headline(report, version), ()]
    out += render_findings(report, width)
    for crash in report.crashes:
        out += [
            line(Part(f"internal error[{crash.name}]", "error"), f" {crash.error}"),
            line("  This is a fault of eaglecfg; the other checks ran. Add --traceback to see where."),
            (),
        ]
    out += _not_checked(report.not_checked, width)
    return [*out, _summary(report), _verdict(report, fail_on)]


def render_findings(report: Report, width: int = WIDTH, only: Rule | None = None) -> list[Line]:
    """The findings alone, an empty line after each; of one rule where ``only`` is given."""
    several = len(report.documents) + len(report.deployments) > 2
    out: list[Line] = []
    for found in report.findings:
        if only in (None, found.rule):
            out += [*_finding(found, several, width), ()]
    return out


def _headline(report: Report, version: str) -> Line:
    parts = [f"eaglecfg {version}", ", ".join(d.name for d in report.documents)]
    parts += [f"engine {', '.join(report.engines)}"] if report.engines else []
    parts += [_count(len(report.deployments), "deployment")] if report.deployments else []
    return line(Part(" · ".join([*parts, f"{report.rules} rules"]), "dim"))


def _finding(found: Reported, name_deployment: bool, width: int) -> list[Line]:
    finding, style = found.finding, _STYLE[found.severity]
    head = f"{found.severity}[{found.rule.id} {found.rule.slug}]"
    where = f"{found.document.name}:{found.span.start.line}:{found.span.start.column}"
    named = f"   (deployment {found.deployment})" if found.deployment and name_deployment else ""
    out = wrapped(line(Part(head, style)), visible(finding.message), width, "  ", "bold")
    out.append(line(Part("  --> ", "place"), where, Part(named, "dim")))
    marks = [Mark(found.span, "", True)]
    for path, note in finding.related:
        place = found.document.place(path)
        marks.append(Mark(place.value, note, False))
    if found.document.lines:
        out += snippet(found.document, marks, finding.path, style)
    for file, evidence in groupby(finding.evidence, key=lambda e: e.file):
        out += _evidence(file, list(evidence))
    out += [line(Part("   = ", "place"), each) for each in finding.arithmetic]
    today = finding.today or found.rule.today
    notes = [
        ("today", today.value if today.value != "nothing" else ""),
        ("why", finding.why),
        ("help", finding.help),
    ]
    if finding.fix is not None:
        safe = "safe" if finding.fix.safe else "read it first"
        notes.append(("fix", f"{finding.fix.title}: write {finding.fix.text} [{safe}]"))
    notes.append(("more", f"eaglecfg explain {found.rule.id}"))
    for label, text in notes:
        if text:
            lead = line(Part("   = ", "place"), Part(f"{label}:", "bold"))
            out += wrapped(lead, visible(text), width, " " * (7 + len(label)))
    return out


def _evidence(file: str, evidence: list[Evidence]) -> list[Line]:
    """Facts from one file. The place is on the first line when all of them share it, or there is only one."""
    one = evidence[0]
    spot = f":{one.line}:{one.column or 1}" if len(evidence) == 1 and one.line else ""
    out = [line(Part("  ::: ", "place"), visible(file) + spot)]
    keys = max(cells(each.key) for each in evidence)
    texts = max(cells(each.text) for each in evidence)
    for each in evidence:
        row = each.key + " " * (keys - cells(each.key)) + "  " + each.text
        note = " " * (texts - cells(each.text)) + "   " + each.note if each.note else ""
        at = f"   (line {each.line})" if each.line and len(evidence) > 1 else ""
        out.append(line(Part("   |  ", "place"), visible(row), Part(visible(note) + at, "dim")))
    return out


def _not_checked(skipped: tuple[Skipped, ...], width: int) -> list[Line]:
    """What could not be decided, and why. Checks that wait for an unread file are one line."""
    if not skipped:
        return []
    out = [line(Part(f"not checked ({len(skipped)})", "bold"))]
    unread = {skip.deployment for skip in skipped if skip.incomplete}
    waiting: dict[str | None, int] = {}
    reasons: dict[tuple[str | None, str, bool], list[Skipped]] = {}
    for skip in sorted(skipped, key=lambda each: not each.incomplete):
        if skip.deployment in unread and not skip.incomplete:
            waiting[skip.deployment] = waiting.get(skip.deployment, 0) + 1
        else:
            reasons.setdefault((skip.deployment, skip.reason, skip.incomplete), []).append(skip)
    for (deployment, reason, incomplete), group in reasons.items():
        rules = ", ".join(f"{skip.rule.id} {skip.rule.slug}" for skip in group[:3])
        more = f" and {len(group) - 3} more" if len(group) > 3 else ""
        lead = line("  ", Part(deployment or group[0].document.name, "bold"), ":")
        marked = f"{reason} — incomplete" if incomplete else reason
        out += wrapped(lead, visible(f"{marked} ({rules}{more})"), width, "    ")
    for deployment, count in waiting.items():
        text = f"{_count(count, 'more check')} could not run without that"
        out.append(line("  ", Part(deployment or "", "bold"), f": {text}"))
    return [*out, ()]


def _summary(report: Report) -> Line:
    parts = [
        _count(report.count(Severity.ERROR), "error"),
        _count(report.count(Severity.WARNING), "warning"),
        f"{report.count(Severity.INFO)} info",
        f"{report.passed} passed",
        f"{len(report.not_checked)} not checked",
        f"{report.not_applicable} not applicable",
    ]
    if report.dropped:
        causes = ", ".join(dict.fromkeys(each.because for each in report.dropped))
        parts.append(f"{len(report.dropped)} left out as consequences of {causes}")
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    return line(" · ".join([*parts, f"{report.files} files, {report.seconds:.2f} s"]))


def _verdict(report: Report, fail_on: Severity) -> Line:
    code = report.exit_code(fail_on)
    words: dict[int, tuple[str, Style, str]] = {
        0: ("OK", "good", f"nothing at or above {fail_on}"),
        1: ("FAIL", "error", f"findings at or above {fail_on}"),
        2: ("UNREADABLE", "error", "a file could not be taken apart, so the rest of it was not checked"),
        3: ("INCOMPLETE", "warning", "something that the config names could not be read"),
        4: ("INTERNAL ERROR", "error", "a check crashed and is missing from this report"),
    }
    word, style, text = words[code]
    return line(Part(word, style), f"  {text} (exit {code})")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
