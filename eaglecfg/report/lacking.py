"""Why a run is incomplete, in one sentence that names what was lacking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eaglecfg.rules.outcome import Report, Skipped

UNREAD = "something that the config names could not be read"
MOST = 2
"""Reasons of checks that are told in full; the report itself lists all."""
LONGEST = 160


def lacking(report: Report) -> str:
    """What kept the checks of an incomplete report from being made: what could not be read, what the config
    does not give, and otherwise the rules' own reasons."""
    return in_one(unread(report), required_open(report))


def in_one(unread: Iterable[str], skipped: Iterable[Skipped]) -> str:
    """The sentence about causes ``unread``, and about checks that had to be made and could not be."""
    return "; ".join([*dict.fromkeys(unread), *_open(list(skipped))]) or UNREAD


def unread(report: Report) -> Iterator[str]:
    """What was named and could not be had, each cause once."""
    causes = [each.finding.lack for each in report.findings if each.finding.incomplete]
    causes += [skip.lack for skip in report.not_checked if skip.incomplete]
    yield from dict.fromkeys(cause or UNREAD for cause in causes)


def required_open(report: Report) -> list[Skipped]:
    """Checks that the run requires and that were not made, without those that only wait for what could not be
    read."""
    waiting = {skip.deployment for skip in report.not_checked if skip.incomplete}
    waiting |= {each.deployment for each in report.findings if each.finding.incomplete}
    return [
        skip
        for skip in report.not_checked
        if skip.rule.id in report.required
        and not skip.incomplete
        and (skip.lack or not waiting & {None, skip.deployment})
    ]


def _open(skipped: list[Skipped]) -> Iterator[str]:
    causes: dict[str, set[tuple[str, str, str | None]]] = {}
    reasons: dict[str, set[tuple[str, str, str | None]]] = {}
    for skip in skipped:
        kind, text = (causes, skip.lack) if skip.lack else (reasons, skip.reason)
        kind.setdefault(text, set()).add((skip.rule.id, skip.document.name, skip.deployment))
    for cause, checks in causes.items():
        yield f"{cause}, which {_counted(len(checks))} {'needs' if len(checks) == 1 else 'need'}"
    if reasons:
        count = _counted(len(set().union(*reasons.values())))
        told = "; ".join(map(_short, list(reasons)[:MOST]))
        more = len(reasons) - MOST
        rest = f"; and {more} more {'reason' if more == 1 else 'reasons'}" if more > 0 else ""
        yield f"{count} could not be made: {told}{rest}"


def _counted(count: int) -> str:
    return "1 required check" if count == 1 else f"{count:,} required checks"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
