"""A comparison as a person reads it on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.report.shown import STYLE_OF
from eaglecfg.report.styled import Line, Part, Style, cells, line, visible, wrapped
from eaglecfg.review.difference.compare import Change, Comparison, DeploymentDifference, FileDifference
from eaglecfg.review.difference.words import (
    NO_CHANGE,
    UNDECIDED,
    UNSURE,
    alike,
    by_group,
    change_words,
    count_words,
    fact_words,
    finding_words,
    head_words,
    more_places,
    option_words,
    place_words,
    same,
    verdict_words,
)
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Reported

MOST = 20
"""Changes of one group that are listed; the rest is counted."""

_VERDICT: dict[str, Style] = {"OK": "good", "INCOMPLETE": "warning", "CHANGED": "warning"}


def render(comparison: Comparison, fail_on: Severity, code: int, *, version: str, width: int) -> list[Line]:
    """The whole comparison. ``version`` is the tool's own, ``code`` the exit code that it ends with."""
    sides = f"{visible(comparison.before.spelled)} → {visible(comparison.after.spelled)}"
    out = [line(Part(f"eaglecfg {version} · {sides}", "dim")), ()]
    for file in comparison.files:
        out += _file(file, width)
    for note in comparison.notes:
        out += wrapped(line(Part("note:", "dim")), visible(note), width, "  ")
    if comparison.notes:
        out.append(())
    counts = [count_words(comparison), finding_words(comparison)]
    out += [line(Part(" · ".join(part for part in counts if part), "bold"))]
    word, text = verdict_words(comparison, fail_on, code)
    out += wrapped(line(Part(word, _VERDICT.get(word, "error"))), f"{text} (exit {code})", width, "  ")
    return out


def _file(file: FileDifference, width: int) -> Iterator[Line]:
    shown = [each for each in file.deployments if each.told]
    if not (shown or file.in_effect or file.results or not file.findings.nothing):
        return
    word = f"   {file.kind}" if file.kind in ("added", "removed") else ""
    yield line(Part(visible(file.name), "bold"), Part(word, "bold"))
    for group in alike(shown):
        yield from _deployment(file, group, width)
    if file.changes and not file.study:
        yield line("  defaults of flags that no deployment gives")
    yield from _changes(file.changes, width)
    for text in file.results:
        yield from wrapped(line("    ", Part("results", "warning")), visible(text), width, "      ")
    if not (shown or file.in_effect or file.kind == "unreadable"):
        yield line(f"  {NO_CHANGE}")
    yield from _findings(file, width)
    yield ()


def _deployment(file: FileDifference, group: list[DeploymentDifference], width: int) -> Iterator[Line]:
    """What becomes of deployments of which the same is to be told."""
    each, names = group[0], [visible(one.name) for one in group]
    if len(names) == 1:
        yield line("  ", Part(names[0], "bold"), f"   {head_words(file, each)}")
    else:
        lead = line("  ", Part(f"{len(names)} deployments", "bold"), f"   {head_words(file, each)}:")
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        yield from wrapped(lead, f"{', '.join(names[:MOST])}{more}", width, "    ")
    if each.kind == "added" and each.after is not None:
        facts = [fact for fact in each.after.facts.values() if fact.group in ("engine", "capture")]
        for fact in facts:
            yield from wrapped(line(f"    {fact.name}:"), fact_words(fact, fact.group), width, "      ")
    yield from _changes(each.changes, width)
    if each.removed or each.added:
        yield line("    launch command")
        for option in each.removed:
            yield line("      ", Part(f"- {option_words(option)}", "error"))
        for option in each.added:
            yield line("      ", Part(f"+ {option_words(option)}", "good"))
    for text in each.results:
        yield from wrapped(line("    ", Part("results", "warning")), visible(text), width, "      ")


def _changes(changes: tuple[Change, ...], width: int) -> Iterator[Line]:
    for group, rows, more in by_group(changes, MOST):
        for change in rows:
            text = " → ".join(change_words(change))
            lead = line(Part(f"    {group}", "dim"), f" {visible(change.name)}:")
            if cells(text) + cells(change.name) + len(group) + 7 <= width:
                yield (*lead, Part(f" {text}"))
            else:
                yield from wrapped(lead, text, width, "      ")
        if more:
            yield line(Part(f"    {group}", "dim"), f" and {more} more")


def _findings(file: FileDifference, width: int) -> Iterator[Line]:
    found = file.findings
    for group in same(found.introduced):
        yield from _finding("+", group, "introduced", width)
    for old, new in found.changed:
        was = f"; it was {old.severity}" if old.severity is not new.severity else ""
        yield from _finding("~", [new], f"changed{was}", width)
    for each in found.accepted:
        yield from _finding("o", [each.found], f"accepted ({visible(each.reason)})", width)
    for group in same(found.unsure):
        yield from _finding("?", group, UNSURE, width)
    for group in same(found.undecided):
        yield from _finding("?", group, UNDECIDED, width)
    for group in same(found.fixed):
        yield from _finding("-", group, "fixed", width)


def _finding(mark: str, group: Sequence[Reported], word: str, width: int) -> list[Line]:
    found = group[0]
    head = Part(f"{found.severity}[{found.rule.id} {found.rule.slug}]", STYLE_OF[found.severity])
    names = list(dict.fromkeys(visible(one.deployment) for one in group if one.deployment))
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    where = f" in {', '.join(names[:MOST])}{more}" if names else ""
    places = f"{place_words(found)}{more_places(group)}"
    text = f"{word}{where}: {visible(found.finding.message)} ({places})"
    return wrapped(line(f"  {mark} ", head), text, width, "    ")
