"""Findings that do not count, in the text report: suppressed ones, old ones, and entries that are gone."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.report.shown import Shown
from eaglecfg.report.styled import Line, Part, line, visible, wrapped
from eaglecfg.rules.outcome import Report, Reported

MOST_STALE = 10
"""Entries of a baseline that are named where nobody asks for all."""


def render_aside(report: Report, shown: Shown, width: int) -> list[Line]:
    """Lines about what does not count, with an empty line behind each group.

    Suppressed and old findings are listed where ``shown`` asks for everything. Entries of the baseline whose
    finding is gone are always named: the file has to be written anew.
    """
    out: list[Line] = []
    if shown.verbose and report.accepted:
        out.append(line(Part(f"suppressed ({report.suppressed})", "bold")))
        for each in report.accepted:
            reason = each.reason or "no reason given"
            out += wrapped(
                _head(each.found), visible(f"{each.found.finding.message} ({reason})"), width, "    "
            )
        out.append(())
    if report.baseline is None:
        return out
    if shown.verbose and report.known:
        out.append(
            line(Part(f"in the baseline {visible(report.baseline.file)} ({len(report.known)})", "bold"))
        )
        for found in report.known:
            out += wrapped(_head(found), visible(found.finding.message), width, "    ")
        out.append(())
    return [*out, *_stale(report, shown, width)]


def _stale(report: Report, shown: Shown, width: int) -> Iterator[Line]:
    use = report.baseline
    if use is None or not use.stale:
        return
    text = f"{len(use.stale)} of its findings are gone; write it anew with --write-baseline {use.file}"
    if len(use.stale) == 1:
        text = f"1 of its findings is gone; write it anew with --write-baseline {use.file}"
    yield from wrapped(line(Part(f"info[baseline {visible(use.file)}]", "info")), visible(text), width, "  ")
    for each in use.stale if shown.verbose else use.stale[:MOST_STALE]:
        where = f"{each.file}: {each.deployment}" if each.deployment is not None else each.file
        yield from wrapped(
            line(Part(f"  {each.rule}", "dim")), visible(f"{where}: {each.message}"), width, "    "
        )
    if len(use.stale) > MOST_STALE and not shown.verbose:
        yield line(f"  and {len(use.stale) - MOST_STALE} more")
    yield ()


def _head(found: Reported) -> Line:
    start = found.span.start
    where = f"{found.document.name}:{start.line}:{start.column}"
    name = f" {found.deployment}:" if found.deployment is not None else ""
    return line(Part(visible(f"  {found.rule.id} {where}{name}"), "dim"))
