"""What could not be read, and what was read from somewhere else than one would think."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from eaglecfg.record import replace
from eaglecfg.review.difference.findings import inside
from eaglecfg.review.difference.sides import Side
from eaglecfg.rules.outcome import Report, Reported, Skipped
from eaglecfg.source.span import KeyPath

MOST_NAMED = 6
"""Files and sentences of one note."""


def unread(report: Report) -> tuple[str, ...]:
    """What a state names and that could not be read, in a sentence each."""
    return tuple(dict.fromkeys(text for _, text in _unread(report)))


def _unread(report: Report) -> Iterator[tuple[Hashable, str]]:
    """The sentences, each with where the value stands and what it is: that does not change with the name of
    the config, of its folder or of a deployment elsewhere."""
    for found in report.findings:
        if found.finding.incomplete:
            path = inside(found)
            value = str(_value(found.document.data, found.finding.path))
            yield (found.rule.id, found.deployment, path, value), found.finding.message
    for skip in report.not_checked:
        if skip.incomplete:
            value = str(_value(skip.document.data, skip.path)) if skip.path else skip.reason
            yield (skip.rule.id, skip.deployment, skip.path, value), skip.reason


def _value(data: Any, path: KeyPath) -> Any:
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


class Known:
    """What could not be read in the earlier state."""

    def __init__(self, was: Report) -> None:
        rows = list(_unread(was))
        self.places = {place for place, _ in rows}
        self.texts = {text for _, text in rows}

    def new(self, now: Report) -> Iterator[str]:
        """Sentences about what cannot be read now for another reason, or what was not named before."""
        told = set()
        for place, text in _unread(now):
            if place not in self.places and text not in self.texts and text not in told:
                told.add(text)
                yield text


def without_unknown(report: Report, side: Side) -> Report:
    """``report`` without findings about files that are only not in git: they are something unread instead."""
    findings, skipped = list[Reported](), list(report.not_checked)
    for found in report.findings:
        named = str(_value(found.document.data, found.finding.path))
        if not found.finding.incomplete or (found.document.name, named) not in side.unknown:
            findings.append(found)
            continue
        key = ".".join(map(str, found.finding.path))
        reason = (
            f"git does not give {key} {named} as {side.label} had it, and the working tree does not either"
        )
        path, span = found.finding.path, found.span
        skipped.append(Skipped(found.rule, reason, found.document, found.deployment, True, span, path))
    if len(findings) == len(report.findings):
        return report
    return replace(report, findings=tuple(findings), not_checked=tuple(skipped))


def notes_of(sides: tuple[Side, Side], reports: tuple[Report, Report], new: Sequence[str]) -> Iterator[str]:
    """What has to be known to read a comparison; ``new`` is what cannot be read any more."""
    for text in new:
        yield f"could not be read in {sides[1].label}, so that the comparison is incomplete: {text}"
    yield from _elsewhere(sides)
    yield from _alone(sides)
    for side in sides:
        for document in side.documents.values():
            if not isinstance(document.data, dict):
                yield f"{document.name} in {side.label} holds no YAML mapping, so its effect is not compared"
    then, now = unread(reports[0]), unread(reports[1])
    both = [text for text in now if text not in new]
    yield from _several(
        both, "could not be read on either side, and is compared as far as it is written down"
    )
    gone = [text for text in then if text not in now] if len(then) > len(both) else []
    yield from _several(gone, f"could not be read in {sides[0].label}")


def _several(texts: Sequence[str], what: str) -> Iterator[str]:
    if texts:
        more = f" (and {len(texts) - MOST_NAMED} more)" if len(texts) > MOST_NAMED else ""
        yield f"{what}: {'; '.join(texts[:MOST_NAMED])}{more}"


def _elsewhere(sides: tuple[Side, Side]) -> Iterator[str]:
    """What revisions do not hold and the working tree gave, once for both of them."""
    every = dict.fromkeys([*sides[0].elsewhere, *sides[1].elsewhere])
    if every:
        labels = " and ".join(side.label for side in sides if side.elsewhere)
        names = ", ".join(list(every)[:MOST_NAMED])
        more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
        yield (
            f"not kept in git, or too large to be taken out of it, and read from the working tree "
            f"for {labels}: {names}{more}"
        )


def _alone(sides: tuple[Side, Side]) -> Iterator[str]:
    """Configs that are gone: one under another name would not be looked for."""
    if not sides[0].folder or sides[1].named:
        return
    names = [name for name in sides[0].documents if name not in sides[1].documents]
    if names:
        listed = ", ".join(names[:MOST_NAMED]) + (" and more" if len(names) > MOST_NAMED else "")
        what = "is" if len(names) == 1 else "are"
        yield (
            f"{listed} {what} not in {sides[1].label} any more; of a folder only eaglecfg.yaml and "
            "studies/*.yaml are looked for, other names are compared with --file NAME"
        )
