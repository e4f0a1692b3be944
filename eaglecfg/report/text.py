"""The report that a person reads: every finding with its text, its evidence, its arithmetic and a way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from eaglecfg.report.brief import brief
from eaglecfg.report.counts import VERDICTS, counted, set_aside
from eaglecfg.report.shown import STYLE_OF, Shown
from eaglecfg.report.snippet import Mark, snippet
from eaglecfg.report.styled import Line, Part, Style, cells, line, visible, wrapped
from eaglecfg.rules.model import Evidence, Fix, Rule, Severity
from eaglecfg.rules.outcome import Report, Reported, Skipped

WIDTH = 110
"""Columns to which prose is wrapped when the terminal does not say."""


def render(report: Report, shown: Shown, *, version: str, width: int = WIDTH) -> list[Line]:
    """The whole report. ``version`` is the tool's own; ``width`` the columns to wrap prose to."""
    out: list[Line] = []
    if not shown.quiet:
        out += [*_headline(report, version, width), ()]
    out += render_findings(report, width, shown=shown)
    for crash in report.crashes:
        out += [
            line(Part(f"internal error[{crash.name}]", "error"), f" {crash.error}"),
            line("  This is a fault of eaglecfg; the other checks ran. Add --traceback to see where."),
            (),
        ]
    if not shown.quiet:
        out += _not_checked(report, width)
        if report.accepted or report.baseline is not None:
            from eaglecfg.report.aside import render_aside

            out += render_aside(report, shown, width)
        out += _summary(report, width)
    return [*out, *_verdict(report, shown.fail_on, width)]


def render_findings(
    report: Report, width: int = WIDTH, only: Rule | None = None, shown: Shown | None = None
) -> list[Line]:
    """The findings alone, an empty line after each; of one rule where ``only`` is given.

    Those of severity info are brief where ``shown`` says so. What the config names and could not be read
    stands among the findings.
    """
    several = len(report.documents) + len(report.deployments) > 2
    whole = shown is None or shown.whole
    out: list[Line] = []
    for found in report.findings:
        if only in (None, found.rule) and (whole or found.severity is not Severity.INFO):
            out += [*_finding(found, several, width), ()]
    for skip in report.not_checked:
        if only is None and skip.incomplete and skip.path:
            out += [*_unread(skip, several, width), ()]
    if not whole and only is None:
        out += brief([found for found in report.findings if found.severity is Severity.INFO], several, width)
    for rule, count in report.more.items():
        if only is None or only.id == rule:
            out += [line(Part(more_words(rule, count), "bold"), " (not listed)"), ()]
    return out


def more_words(rule: str, count: int) -> str:
    """``37 more of EC101``: findings that are counted but not listed."""
    return f"{count:,} more of {rule}"


def _headline(report: Report, version: str, width: int) -> list[Line]:
    parts = [f"eaglecfg {version}", ", ".join(d.name for d in report.documents)]
    parts += [f"engine {', '.join(report.engines)}"] if report.engines else []
    parts += [counted(len(report.deployments), "deployment")] if report.deployments else []
    return flowing(parts, width, "dim")


def flowing(parts: Sequence[str], width: int, style: Style = "plain") -> list[Line]:
    """``parts`` with dots between them, broken between parts where a line is full."""
    rows = [""]
    for part in parts:
        joined = f"{rows[-1]} · {part}" if rows[-1] else part
        if rows[-1] and cells(joined) > width:
            rows[-1] += " ·"
            rows.append(f"  {part}")
        else:
            rows[-1] = joined
    out: list[Line] = []
    for row in map(visible, rows):
        if cells(row) <= max(width, 40):
            out.append(line(Part(row, style)))
            continue
        space = row[: len(row) - len(row.lstrip())]
        first, _, rest = row.strip().partition(" ")
        out += wrapped(line(Part(space + first, style)), rest, width, "    ", style)
    return out


def _finding(found: Reported, name_deployment: bool, width: int) -> list[Line]:
    finding, style = found.finding, STYLE_OF[found.severity]
    head = f"{found.severity}[{found.rule.id} {found.rule.slug}]"
    where = f"{visible(found.document.name)}:{found.span.start.line}:{found.span.start.column}"
    named = f"   (deployment {found.deployment})" if found.deployment and name_deployment else ""
    out = wrapped(line(Part(head, style)), visible(finding.message), width, "  ", "bold")
    out.append(line(Part("  --> ", "place"), where, Part(named, "dim")))
    marks = [Mark(found.span, "", True)]
    for path, note in finding.related:
        place = found.document.place(path)
        marks.append(Mark(place.value, note, False))
    if found.document.lines:
        out += snippet(found.document, marks, finding.path, style, width)
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
        notes.append(("fix", fix_words(finding.fix)))
    notes.append(("more", f"eaglecfg explain {found.rule.id}"))
    return [*out, *_notes(notes, width)]


def fix_words(fix: Fix) -> str:
    """What the fix does, and whether ``eaglecfg fix`` makes it without being asked to change what runs."""
    written = f": write {fix.text}" if fix.kind == "set" and fix.text not in fix.title else ""
    return f"{fix.title}{written} [{'safe' if fix.safe else 'may change what runs'}]"


def _unread(skip: Skipped, name_deployment: bool, width: int) -> list[Line]:
    """Something that the config names and that could not be read, at its place like a finding."""
    assert skip.span is not None
    head = Part(f"incomplete[{skip.rule.id} {skip.rule.slug}]", "warning")
    where = f"{visible(skip.document.name)}:{skip.span.start.line}:{skip.span.start.column}"
    named = f"   (deployment {skip.deployment})" if skip.deployment and name_deployment else ""
    out = wrapped(line(head), visible(skip.reason), width, "  ", "bold")
    out.append(line(Part("  --> ", "place"), where, Part(named, "dim")))
    if skip.document.lines:
        out += snippet(skip.document, [Mark(skip.span, "", True)], skip.path, "warning", width)
    return [*out, *_notes([("help", skip.help), ("more", f"eaglecfg explain {skip.rule.id}")], width)]


def _notes(notes: Sequence[tuple[str, str]], width: int) -> Iterator[Line]:
    for label, text in notes:
        if text:
            lead = line(Part("   = ", "place"), Part(f"{label}:", "bold"))
            yield from wrapped(lead, visible(text), width, " " * (7 + len(label)))


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


def _not_checked(report: Report, width: int) -> list[Line]:
    """What could not be decided, and why. Checks that wait for an unread file are one line."""
    skipped = [skip for skip in report.not_checked if not (skip.incomplete and skip.path)]
    if not skipped:
        return []
    out = [line(Part(f"not checked ({len(skipped)})", "bold"))]
    unread = {skip.deployment for skip in report.not_checked if skip.incomplete}
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
        text = f"{counted(count, 'more check')} could not run without what is incomplete above"
        out += wrapped(line("  ", Part(deployment or "", "bold"), ":"), text, width, "    ")
    return [*out, ()]


def _summary(report: Report, width: int) -> list[Line]:
    """Findings by severity, then checks by how they ended."""
    findings = [
        counted(report.count(Severity.ERROR), "error"),
        counted(report.count(Severity.WARNING), "warning"),
        f"{report.count(Severity.INFO)} info",
        *set_aside(report),
        *_fixable(report),
        *(more_words(rule, count) for rule, count in report.more.items()),
        f"{counted(report.files, 'file')}, {report.seconds:.2f} s",
    ]
    ends = [
        f"{counted(report.checks, 'check')}: {report.passed} passed",
        f"{report.failed} with findings",
        f"{report.undecided} not checked",
        f"{report.not_applicable} not applicable",
    ]
    if report.dropped:
        causes = ", ".join(dict.fromkeys(each.because for each in report.dropped))
        ends.append(f"{report.left_out} left out as consequences of {causes}")
    return [*flowing(findings, width), *flowing(ends, width)]


def _fixable(report: Report) -> list[str]:
    fixes = [found.finding.fix.safe for found in report.findings if found.finding.fix is not None]
    if not fixes:
        return []
    careful = f"{sum(fixes)} fixable (eaglecfg fix)" if any(fixes) else ""
    unsafe = fixes.count(False)
    rest = f"{unsafe} that may change what runs (eaglecfg fix --unsafe)" if unsafe else ""
    return [part for part in (careful, rest) if part]


def _verdict(report: Report, fail_on: Severity, width: int) -> list[Line]:
    code = report.exit_code(fail_on)
    words: dict[int, tuple[Style, str]] = {
        0: ("good", f"nothing at or above {fail_on}"),
        1: ("error", f"findings at or above {fail_on}"),
        2: ("error", "a file could not be taken apart, so the rest of it was not checked"),
        3: ("warning", ""),
        4: ("error", "a check crashed and is missing from this report"),
    }
    style, text = words[code]
    if code == 3:
        from eaglecfg.report.lacking import lacking  # most runs are complete

        text = lacking(report)
    return wrapped(line(Part(VERDICTS[code], style), " "), f"{visible(text)} (exit {code})", width, "  ")
