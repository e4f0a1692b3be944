"""What the renderings of a comparison say alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.report.lacking import UNREAD, in_one, required_open, unread
from eaglecfg.report.styled import visible
from eaglecfg.review.difference.compare import Change, Comparison, DeploymentDifference, FileDifference
from eaglecfg.review.difference.contents import CONTENT
from eaglecfg.review.difference.effect import Fact, Group
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Reported
from eaglecfg.source.secrets import HIDDEN

LONGEST = 300
"""Characters of one value as it is shown."""

KINDS = ("changed", "added", "removed", "renamed")
"""What can happen to a deployment or a file, in the order in which it is counted."""

NO_CHANGE = "no change in effect"

UNSURE = "there now, and not known whether before"
"""Of findings whose rule could not be decided in the earlier state, of which something could not be read."""

UNDECIDED = "not decided any more"
"""Of findings that are gone because their rule could not be decided, or only follows from another."""


def fact_words(fact: Fact | None, group: Group) -> str:
    """One side of a change."""
    if fact is None:
        return "not set" if group in ("setting", "environment", "declared", "study") else "none"
    text = visible(fact.words)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def change_words(change: Change) -> tuple[str, str]:
    """Both sides of a change; that they differ is said where it does not show."""
    before, after = (
        "none" if one is None and CONTENT in change.name else fact_words(one, change.group)
        for one in (change.before, change.after)
    )
    if not change.in_effect:
        return before, f"{after}, {'another spelling' if before == after else NO_CHANGE}"
    return before, f"{after}, another value" if before == after else after


def alike(deployments: Sequence[DeploymentDifference]) -> list[list[DeploymentDifference]]:
    """Deployments in groups of which the same is to be told, in their order."""
    groups: dict[tuple[object, ...], list[DeploymentDifference]] = {}
    for each in deployments:
        changes = tuple((one.group, one.name, *change_words(one)) for one in each.changes)
        told: tuple[object, ...] = (each.kind, changes, each.removed, each.added, each.results)
        if each.kind == "renamed":  # every one was another
            told = (each.name,)
        groups.setdefault(told, []).append(each)
    return list(groups.values())


def option_words(option: Sequence[str]) -> str:
    """An option of the launch command with its values, as a shell takes it."""
    import shlex

    return visible(" ".join(word if word == HIDDEN else shlex.quote(word) for word in option))


def place_words(found: Reported) -> str:
    """Where a finding stands."""
    start = found.span.start
    return f"{visible(found.document.name)}:{start.line}:{start.column}"


def more_places(group: Sequence[Reported]) -> str:
    """How many places there are beside the first, of findings that say the same."""
    count = len({place_words(one) for one in group}) - 1
    return "" if not count else " and one more place" if count == 1 else f" and {count} more places"


def same(found: Sequence[Reported]) -> list[list[Reported]]:
    """Findings that say the same of several deployments, together."""
    groups: dict[tuple[object, ...], list[Reported]] = {}
    for one in found:
        said = one.rule.id, one.severity, one.document.name, one.finding.message, one.finding.help
        groups.setdefault(said, []).append(one)
    return list(groups.values())


def by_group(changes: Sequence[Change], most: int) -> Iterator[tuple[Group, list[Change], int]]:
    """Changes group by group, at most ``most`` of each, and how many more there are."""
    groups: dict[Group, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.group, []).append(change)
    for group, rows in groups.items():
        yield group, rows[:most], max(0, len(rows) - most)


def head_words(file: FileDifference, each: DeploymentDifference) -> str:
    """What became of a deployment, in two words."""
    if each.kind == "renamed":
        return f"renamed, was {visible(each.was)}; nothing else changes in effect"
    if file.kind == "added" and each.kind == "added":
        return "added with its file"
    if each.kind == "same":
        if each.removed or each.added:
            return f"{NO_CHANGE}, another command line"
        return f"{NO_CHANGE}, another spelling" if each.respelled else NO_CHANGE
    return each.kind


def count_words(comparison: Comparison) -> str:
    """``1 of 3 deployments changes in effect, 1 added``."""
    every = [each for file in comparison.files for each in file.deployments]
    studies = [file for file in comparison.files if file.study]
    parts = []
    kinds = {kind: sum(each.kind == kind for each in every) for kind in KINDS}
    whole = sum(each.kind not in ("added", "removed") for each in every)
    if kinds["changed"]:
        verb = "changes" if kinds["changed"] == 1 else "change"
        parts.append(f"{kinds['changed']} of {_counted(whole, 'deployment')} {verb} in effect")
    parts += [_first(kinds[kind], "deployment", kind, parts) for kind in KINDS[1:] if kinds[kind]]
    for kind in KINDS:
        count = sum(file.kind == kind for file in studies)
        if count:
            parts.append(f"{_counted(count, 'study', 'studies')} {kind}")
    unreadable = sum(file.kind == "unreadable" for file in comparison.files)
    if unreadable:
        parts.append(f"{_counted(unreadable, 'file')} not compared")
    others = sum(
        bool(file.changes) and not any(each.in_effect for each in file.deployments)
        for file in comparison.files
        if not file.study
    )
    if others:
        parts.append("defaults of flags that no deployment gives change")
    launched = sum(each.respelled and bool(each.removed or each.added) for each in every)
    respelled = sum(each.respelled for each in every) - launched
    for count, what in ((launched, "command line"), (respelled, "spelling")):
        if count:
            has = "has" if count == 1 else "have"
            parts.append(f"{_counted(count, 'deployment')} {has} another {what} and the same effect")
    return ", ".join(parts) or NO_CHANGE


def finding_words(comparison: Comparison) -> str:
    """``2 findings introduced (1 error, 1 warning), 1 fixed``; empty where nothing changed."""
    found = comparison.findings
    parts = []
    if found.introduced:
        count = _counted(len(found.introduced), "finding")
        parts.append(f"{count} introduced ({severities(found.introduced)})")
    for rows, word in (
        (found.fixed, "fixed"),
        (found.changed, "changed"),
        (found.accepted, "accepted"),
        (found.undecided, UNDECIDED),
        (found.unsure, UNSURE),
    ):
        if rows:
            parts.append(f"{len(rows)} {word}" if parts else f"{_counted(len(rows), 'finding')} {word}")
    return ", ".join(parts)


def severities(findings: Sequence[Reported]) -> str:
    """``1 error, 2 warnings``."""
    counts = {severity: sum(one.severity is severity for one in findings) for severity in Severity}
    return ", ".join(
        str(count) + f" {severity}" + ("s" if count != 1 and severity is not Severity.INFO else "")
        for severity, count in counts.items()
        if count
    )


def verdict_words(comparison: Comparison, fail_on: Severity, code: int) -> tuple[str, str]:
    """(one word, one sentence) about an exit code."""
    if code == 4:
        return "INTERNAL ERROR", "a rule crashed; its check is missing here"
    if code == 2:
        return "UNREADABLE", "a file of the later state holds no YAML mapping"
    new = comparison.findings.new_at(fail_on)
    if code == 1 and new:
        verb = "is" if len(new) == 1 else "are"
        return "FAIL", f"{_counted(len(new), 'finding')} at or above {fail_on} {verb} new"
    if code == 1:
        return "CHANGED", "something changes in effect"
    if code == 3:
        return "INCOMPLETE", _lacking(comparison, fail_on)
    return "OK", f"nothing new at or above {fail_on}"


def _lacking(comparison: Comparison, fail_on: Severity) -> str:
    """What an incomplete comparison lacks, in the words of the verdict on the later state."""
    report, doubtful = comparison.reports[1], comparison.findings.unsure_at(fail_on)
    named = "something that the later state names could not be read"
    later = f"{named}, and it could before or is new" if comparison.unread else named
    causes = unread(report) if comparison.unread or report.required else ()
    said = [later if cause == UNREAD else cause for cause in causes]
    if doubtful:
        are, they = ("is", "it") if len(doubtful) == 1 else ("are", "they")
        said.append(
            f"{_counted(len(doubtful), 'finding')} at or above {fail_on} {are} not known to be new: "
            f"where {they} would have been, {comparison.before.label} could not be read"
        )
    return visible(in_one(said, required_open(report) if comparison.incomplete else ()))


def _first(count: int, noun: str, kind: str, before: Sequence[str]) -> str:
    return f"{count} {kind}" if before else f"{_counted(count, noun)} {kind}"


def _counted(count: int, noun: str, several: str = "") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {several or noun + 's'}"
