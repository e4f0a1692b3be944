"""What ``eaglecfg fix`` says: fixes that were made, those that were not and why, and what is left."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence

import click

from eaglecfg.cli.output import tell as tell_line
from eaglecfg.cli.output import write
from eaglecfg.report.counts import counted
from eaglecfg.report.styled import Line, Part, Style, line, plain, visible
from eaglecfg.review.fix import Fixed
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report, Reported, Skipped
from eaglecfg.source.document import Document
from eaglecfg.source.patch import PatchNames
from eaglecfg.source.secret_places import line_without

MOST_LEFT = 20
"""Findings that are named where many are left; ``validate`` lists all."""

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)
_STYLES: dict[Severity, Style] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "info",
}


def left_over(report: Report, fail_on: Severity, chosen: Collection[str]) -> list[Reported]:
    """Findings that give exit code 1: of the rules ``chosen`` where some are, the worst first."""
    most = _ORDER.index(fail_on)
    found = [each for each in of_chosen(report, chosen) if _ORDER.index(each.severity) <= most]
    return sorted(found, key=lambda each: _ORDER.index(each.severity))


def of_chosen(report: Report, chosen: Collection[str]) -> list[Reported]:
    """The findings of the rules ``chosen``, of all where that is empty."""
    return [each for each in report.findings if not chosen or each.rule.id in chosen]


def unread(report: Report, chosen: Collection[str]) -> list[Skipped]:
    """Checks that could not be made, which give exit code 3."""
    return [each for each in report.not_checked if each.incomplete and (not chosen or each.rule.id in chosen)]


def tell(
    fixed: Fixed, files: int, *, left: Sequence[Reported], open_checks: Sequence[Skipped],
    chosen: Collection[str], fix_only: bool, diff: bool, quiet: bool, color: str,
) -> None:  # fmt: skip
    """Say what came of it; on stderr where stdout holds the text itself."""
    done = "would fix" if diff else "fixed"
    out: list[Line] = [_row(done, "good", found) for found in fixed.made]
    out += [_row("left", "warning", each.found, each.reason) for each in fixed.left]
    if not fix_only:
        out += _standing(fixed, left, open_checks)
    rest = [] if fix_only else _counts(fixed.report, chosen, open_checks)
    rest += [f"{fixed.unsafe} more with --unsafe, which may change what runs"] if fixed.unsafe else []
    fixes = "1 fix" if len(fixed.made) == 1 else f"{len(fixed.made):,} fixes"
    out.append(line(Part(" · ".join([f"{fixes} in {counted(files, 'file')}", *rest]), "bold")))
    if quiet:
        click.echo(plain(out), err=True, nl=False)
    else:
        write(out, color)


def tell_base(names: PatchNames) -> None:
    """Say where a patch has to be applied, if not where we are."""
    if names.git:
        folder = shlex.quote(str(names.base))
        tell_line(f"the patch counts from {folder}: apply it with git -C {folder} apply")
    elif names.loose:
        text = (
            "a file lies outside of this folder, where patch takes none; run fix --diff in a folder above all"
        )
        tell_line(text)


def tell_secrets(document: Document, numbers: Sequence[int]) -> None:
    """Say that lines which a patch repeats hold secrets: blanked, it could not be applied."""
    held = [n for n in numbers if line_without(document, n) != document.lines[n - 1]]
    if held:
        shown = ", ".join(map(str, held[:6])) + (f" and {len(held) - 6} more" if len(held) > 6 else "")
        lines = "line" if len(held) == 1 else "lines"
        tell_line(
            f"the patch repeats {lines} {shown} of {document.name} as it has to, with a secret in it: "
            "do not post it where the file itself may not be seen"
        )


def _standing(fixed: Fixed, left: Sequence[Reported], open_checks: Sequence[Skipped]) -> Iterator[Line]:
    """Findings, and checks that could not be made, without those that have a line already."""
    told = {(each.found.rule.id, each.found.span, each.found.deployment) for each in fixed.left}
    rows: list[Line] = []
    for found in left:
        if (found.rule.id, found.span, found.deployment) not in told:
            where = f"{found.document.name}:{found.span.start.line}"
            text = visible(f" {where}: {found.rule.id} {found.finding.message}")
            rows.append(line(Part(str(found.severity), _STYLES[found.severity]), text))
    for skip in open_checks:
        spot = f":{skip.span.start.line}" if skip.span is not None else ""
        text = visible(f" {skip.document.name}{spot}: {skip.rule.id} {skip.reason}")
        rows.append(line(Part("not checked", "warning"), text))
    yield from rows[:MOST_LEFT]
    if len(rows) > MOST_LEFT:
        yield line(f"and {len(rows) - MOST_LEFT:,} more, which eaglecfg validate lists")


def _counts(report: Report, chosen: Collection[str], open_checks: Sequence[Skipped]) -> list[str]:
    kept = of_chosen(report, chosen)
    counts = [
        f"{counted(sum(each.severity is severity for each in kept), str(severity))} left"
        for severity in (Severity.ERROR, Severity.WARNING)
    ]
    if chosen:
        counts[0] = f"of the selected rules {counts[0]}"
    return counts + ([f"{len(open_checks):,} not checked"] if open_checks else [])


def _row(word: str, style: Style, found: Reported, reason: str = "") -> Line:
    fix = found.finding.fix
    assert fix is not None
    text = f"{found.rule.id} {fix.title}" + (f": {reason}" if reason else "")
    where = f"{found.document.name}:{found.span.start.line}"
    return line(Part(word, style), f" {visible(where)}: {visible(text)}")
