"""Markdown for a comment on a pull request or a job's summary. Nothing that a file holds is markup in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from eaglecfg.report.counts import VERDICTS, counted, in_words
from eaglecfg.report.lacking import lacking
from eaglecfg.report.roots import Roots
from eaglecfg.report.styled import visible
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report, Reported

MARKER = "<!-- eaglecfg report -->"
"""First line, by which a workflow finds its earlier comment."""

MOST_BYTES = 65_536
"""Of a comment on GitHub, which counts characters; bytes are never fewer."""

_ROOM_FOR_THE_END = 400
MOST_NOT_CHECKED = 20
"""Reasons that are listed."""

MOST_RULES = 10
"""Rules that are named with one reason."""

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+|~^$=-])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_BREAK = "&#8203;"
"""A space without width. Hosts look for names, numbers and addresses after the markup is resolved, so that
only something between their characters keeps them apart."""

_REFERENCES = re.compile(
    r"@|#|![0-9]|[~%$][A-Za-z0-9]|\bGH-|://|\bwww\.|\bmailto:|\bxmpp:|:(?=[A-Za-z0-9_+-]+:)"
)


def to_markdown(report: Report, fail_on: Severity, roots: Roots, *, version: str) -> str:
    """The report on at most 65,536 bytes; what does not fit is counted."""
    code = report.exit_code(fail_on)
    page = _Page()
    why = f"{escaped(lacking(report))}\n\n" if code == 3 else ""
    page.add(f"{MARKER}\n### eaglecfg: {VERDICTS[code]}\n\n{why}{in_words(report)}\n")
    _findings(page, report, report.findings, roots)
    page.some(_crashes(report), "\n", "")
    page.some(_details(report, roots), "\n", "", counts="finding in detail")
    for title, lines in _lists(report, roots):
        head = f"\n<details><summary>{title}</summary>\n\n"
        page.some(lines, head, "\n</details>\n", counts="line")
    engines = f" · {', '.join(map(escaped, report.engines))}" if report.engines else ""
    names = ", ".join(escaped(roots.shown(document.name)) for document in report.documents[:5])
    page.end(f"\n<sub>eaglecfg {escaped(version)} · {names}{engines}</sub>\n")
    return page.text


def error_markdown(message: str) -> str:
    """What stands in place of a report where there is none."""
    return f"{MARKER}\n### eaglecfg: no report\n\n{escaped(message[:2_000])}\n"


def escaped(text: str) -> str:
    """``text`` so that it reads as it is: no markup, no HTML, no mention, no link, no cell of a table."""
    return _kept_apart(text, lambda part: _MARKUP.sub(r"\\\1", _without_html(part)))


def in_html(text: str) -> str:
    """The same for text between tags of HTML, where markup means nothing."""
    return _kept_apart(text, _without_html)


def code_span(text: str) -> str:
    """``text`` in a monospaced font, in which hosts look for nothing. In a table: ``code_cell``."""
    text = visible(text) or " "
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def code_cell(text: str) -> str:
    """``text`` in a monospaced font within a cell, which ``|`` would end."""
    return code_span(text).replace("|", "\\|")


class _Page:
    """Text that grows up to the limit."""

    def __init__(self) -> None:
        self.text = ""
        self._left = MOST_BYTES - _ROOM_FOR_THE_END

    def add(self, text: str) -> bool:
        """Add ``text`` if it fits."""
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > self._left:
            return False
        self._left -= size
        self.text += text
        return True

    def some(self, lines: Iterator[str], head: str, foot: str, counts: str = "") -> None:
        """Add as many of ``lines`` as fit between ``head`` and ``foot``; nothing where there is none."""
        every = list(lines)
        frame = len((head + foot).encode()) + 100
        if not every or frame > self._left:
            return
        self._left -= frame
        self.text += head
        kept = 0
        for line in every:
            if not self.add(line):
                break
            kept += 1
        if kept < len(every) and counts:
            self.text += f"\n… and {counted(len(every) - kept, counts)} more\n"
        self.text += foot

    def end(self, text: str) -> None:
        """The last line; cut rather than left out."""
        if len(text.encode("utf-8", "surrogatepass")) <= _ROOM_FOR_THE_END + self._left:
            self.text += text


def _kept_apart(text: str, escape: Callable[[str], str]) -> str:
    out: list[str] = []
    at = 0
    for found in _REFERENCES.finditer(text := visible(text)):
        out += [escape(text[at : found.start() + 1]), _BREAK]
        at = found.start() + 1
    return "".join([*out, escape(text[at:])])


def _without_html(text: str) -> str:
    for character, entity in _ENTITIES.items():
        text = text.replace(character, entity)
    return text


def _findings(page: _Page, report: Report, every: Sequence[Reported], roots: Roots) -> None:
    several = len(report.deployments) > 1
    head = "\n| | rule | place | finding |\n|---|---|---|---|\n"

    def row(found: Reported) -> str:
        place = code_cell(f"{roots.shown(found.document.name)}:{found.span.start.line}")
        where = f" {escaped(found.deployment)}" if several and found.deployment is not None else ""
        rule = f"{found.rule.id} {found.rule.slug}"
        return f"| {found.severity} | {rule} | {place}{where} | {escaped(found.finding.message)} |\n"

    page.some(map(row, every), head, "", counts="finding")


def _crashes(report: Report) -> Iterator[str]:
    for crash in report.crashes:
        yield f"- **internal error** in {escaped(crash.name)}: {escaped(crash.error)}\n"


def _details(report: Report, roots: Roots) -> Iterator[str]:
    """What stands behind each error and warning."""
    for found in report.findings:
        finding = found.finding
        facts = [
            f"{each.file}{f':{each.line}' if each.line else ''}  {each.key}  {each.text}"
            for each in finding.evidence
        ]
        facts = [f"{fact}  {each.note}".rstrip() for fact, each in zip(facts, finding.evidence, strict=True)]
        facts += finding.arithmetic
        if found.severity is Severity.INFO or not (facts or finding.why or finding.help):
            continue
        name = f"{found.rule.id} {found.rule.slug}"
        where = f" in {in_html(found.deployment)}" if found.deployment is not None else ""
        lines = [f"<details><summary>{name}{where}</summary>\n\n"]
        if facts:
            block = "\n".join(map(visible, facts))
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block)), default=0))
            lines.append(f"{fence}text\n{block}\n{fence}\n\n")
        lines += [f"**why** {escaped(finding.why)}\n\n"] if finding.why else []
        lines += [f"**help** {escaped(finding.help)}\n\n"] if finding.help else []
        yield "".join(lines) + "</details>\n"


def _lists(report: Report, roots: Roots) -> Iterator[tuple[str, Iterator[str]]]:
    if report.accepted:
        yield f"{report.suppressed:,} suppressed", _suppressed(report, roots)
    if report.known:
        yield f"{len(report.known):,} in the baseline", map(_item(roots), report.known)
    if report.baseline is not None and report.baseline.stale:
        stale = report.baseline.stale
        yield f"{len(stale):,} gone from the baseline", (f"- {s.rule}: {escaped(s.message)}\n" for s in stale)
    if report.not_checked:
        lines = list(_open_checks(report))
        if len(lines) > MOST_NOT_CHECKED:
            lines[MOST_NOT_CHECKED:] = [f"- … and {len(lines) - MOST_NOT_CHECKED:,} more reasons\n"]
        yield f"{len(report.not_checked):,} not checked", iter(lines)


def _open_checks(report: Report) -> Iterator[str]:
    """One line for each reason, with the rules that it keeps from a verdict."""
    rules: dict[tuple[str | None, str], dict[str, None]] = {}
    for skip in report.not_checked:
        rules.setdefault((skip.deployment, skip.reason), {})[f"{skip.rule.id} {skip.rule.slug}"] = None
    for (deployment, reason), names in rules.items():
        where = f"{escaped(deployment)}: " if deployment else ""
        shown = ", ".join([*names][:MOST_RULES])
        more = f" and {len(names) - MOST_RULES} more" if len(names) > MOST_RULES else ""
        yield f"- {where}{escaped(reason)} ({shown}{more})\n"


def _item(roots: Roots) -> Callable[[Reported], str]:
    def item(found: Reported) -> str:
        place = code_span(f"{roots.shown(found.document.name)}:{found.span.start.line}")
        return f"- {found.severity} {found.rule.id} {place} {escaped(found.finding.message)}\n"

    return item


def _suppressed(report: Report, roots: Roots) -> Iterator[str]:
    for each in report.accepted:
        line = _item(roots)(each.found).rstrip("\n")
        yield f"{line} (reason: {escaped(each.reason) or 'none given'})\n"
