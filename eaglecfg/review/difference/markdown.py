"""A comparison as a comment on a pull request: what a reviewer has to see first, bounded and escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eaglecfg.report.styled import visible
from eaglecfg.review.difference.compare import Change, Comparison, DeploymentDifference, FileDifference
from eaglecfg.review.difference.findings import FindingChanges
from eaglecfg.review.difference.words import (
    LONGEST,
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
    severities,
    verdict_words,
)
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Reported

LARGEST = 60_000
"""Characters of the whole comment; GitHub takes 65,536, and a caller may add a line of its own."""

LARGEST_FINDINGS = 40_000
"""Characters of all about findings, which stands first and is never left out."""

MOST = 12
"""Changes of one group, and findings of one kind, that are listed; the rest is counted."""

MOST_INTRODUCED = 25
"""New findings that are listed."""

MOST_NAMES = 5
"""Deployments that are named of those of which the same is told."""

MARKER = "<!-- eaglecfg diff -->"
"""First line, by which a workflow finds the comment that it wrote before."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")
_MARK = {Severity.ERROR: "🔴", Severity.WARNING: "🟡", Severity.INFO: "🔵"}


def render(comparison: Comparison, fail_on: Severity, code: int) -> str:
    """The comment: the verdict, findings, then what changes. ``code`` is the exit code of the comparison."""
    blocks = [MARKER, f"### eaglecfg: {_code(comparison.before.spelled)} → {_code(comparison.after.spelled)}"]
    counts = [count_words(comparison), finding_words(comparison)]
    word, text = verdict_words(comparison, fail_on, code)
    blocks.append(f"**{' · '.join(part for part in counts if part)}** — {word}: {text}")
    blocks += _findings(comparison.findings)
    urgent, rest = comparison.notes[: len(comparison.unread)], comparison.notes[len(comparison.unread) :]
    blocks += _notes(urgent)
    for file in comparison.files:
        blocks += _file(file)
    blocks += _notes(rest)
    return _bounded(blocks)


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield "\n".join(f"- note: {_text(_short(note))}" for note in notes[:MOST])


def _bounded(blocks: Sequence[str]) -> str:
    """The blocks one after another, as many as there is room for; no block is cut in its middle."""
    out, size = [], 0
    for number, block in enumerate(blocks):
        size += len(block) + 2
        if size > LARGEST:
            out.append(
                f"**{len(blocks) - number} more parts are left out** for the length of a comment; "
                "`eaglecfg diff` prints all of it."
            )
            break
        out.append(block)
    return "\n\n".join(out) + "\n"


def _file(file: FileDifference) -> Iterator[str]:
    for group in alike([each for each in file.deployments if each.told]):
        each = group[0]
        names = _names([one.name for one in group])
        yield f"#### {names} in {_code(file.name)}: {_text(head_words(file, each))}"
        yield from _deployment(each)
    if file.kind in ("added", "removed") and not file.deployments and not file.study:
        yield f"#### {_code(file.name)}: {file.kind}"
    if file.changes or (file.study and file.in_effect):
        what = "study" if file.study else "defaults of flags that no deployment gives"
        yield f"#### {what} in {_code(file.name)}" + (f": {file.kind}" if file.study else "")
        yield from _tables(file.changes)
    told = any(each.told for each in file.deployments)
    if not (file.in_effect or told or file.findings.nothing):
        yield f"#### {_code(file.name)}: {'not compared' if file.kind == 'unreadable' else NO_CHANGE}"
    if file.results:
        yield "\n".join(f"- ⚠️ {_text(text)}" for text in file.results)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(_code(_short(name)) for name in names[:MOST_NAMES]) + more


def _deployment(each: DeploymentDifference) -> Iterator[str]:
    if each.kind == "added" and each.after is not None:
        facts = [fact for fact in each.after.facts.values() if fact.group in ("engine", "capture")]
        rows = [f"- {_text(fact.name)}: {_text(fact_words(fact, fact.group))}" for fact in facts]
        if rows:
            yield "\n".join(rows)
    yield from _tables(each.changes)
    if each.removed or each.added:
        lines = [f"- {option_words(option)}" for option in each.removed]
        lines += [f"+ {option_words(option)}" for option in each.added]
        yield f"<details><summary>launch command</summary>\n\n{_fenced(lines)}\n\n</details>"
    if each.results:
        yield "\n".join(f"- ⚠️ {_text(text)}" for text in each.results)


def _tables(changes: Sequence[Change]) -> Iterator[str]:
    rows = []
    for group, some, more in by_group(changes, MOST):
        for change in some:
            name = (
                f"**{_text(change.name)}**"
                if group in ("capture", "draft", "engine")
                else _code(change.name).replace("|", "\\|")
            )
            before, after = map(_text, change_words(change))
            rows.append(f"| {group} | {name} | {before} | {after} |")
        if more:
            rows.append(f"| {group} | and {more} more | | |")
    if rows:
        yield "\n".join(["| | | before | after |", "|---|---|---|---|", *rows])


def _findings(found: FindingChanges) -> Iterator[str]:
    """All that became of findings, the most severe first; of kinds that there are many of, the first."""
    rows = _rows(found.introduced, "introduced", MOST_INTRODUCED)
    rows += _rows([new for _, new in found.changed], "changed", MOST)
    rows += _rows(
        [each.found for each in found.accepted], "accepted", MOST, [e.reason for e in found.accepted]
    )
    rows += _rows(found.unsure, UNSURE, MOST_INTRODUCED)
    rows += _rows(found.undecided, UNDECIDED, MOST)
    fixed = same(found.fixed)
    rows += [f"- ✅ fixed: {_head(group)}" for group in fixed[:MOST]]
    rows += _more(fixed[MOST:], "fixed")
    size = 0
    for number, row in enumerate(rows):
        size += len(row)
        if size > LARGEST_FINDINGS:
            rows[number:] = [f"- and {len(rows) - number} more lines about findings"]
            break
    if rows:
        yield "\n".join(rows)


def _rows(found: Sequence[Reported], word: str, most: int, reasons: Sequence[str] = ()) -> list[str]:
    groups = same(found)
    why = {id(one): reason for one, reason in zip(found, reasons, strict=False)}
    rows = [_finding(word, group, why.get(id(group[0]))) for group in groups[:most]]
    return rows + _more(groups[most:], word)


def _finding(word: str, group: Sequence[Reported], reason: str | None) -> str:
    found = group[0]
    mark = _MARK[found.severity] if word in ("introduced", "changed", UNSURE) else "⚪"
    text = f"- {mark} {word}: {_head(group)} at {_code(_short(place_words(found)))}"
    text += more_places(group)
    text += f": {_text(_short(found.finding.message))}"
    if reason is not None:
        return f"{text}; the file says why: {_text(_short(reason))}"
    return f"{text} ({_text(_short(found.finding.help))})" if found.finding.help else text


def _head(group: Sequence[Reported]) -> str:
    found = group[0]
    names = list(dict.fromkeys(one.deployment for one in group if one.deployment))
    return f"**{found.severity} {found.rule.id}** {_text(found.rule.slug)}" + (
        f" in {_names(names)}" if names else ""
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _more(groups: Sequence[Sequence[Reported]], word: str) -> list[str]:
    rest = [one for group in groups for one in group]
    return [f"- and {len(rest)} more {word} ({severities(rest)})"] if rest else []


def _text(text: str) -> str:
    """Prose that Markdown and HTML take as it is: nothing in it formats, links, mentions or breaks a cell."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
    return escaped.replace("@", "@\u2060").replace("://", ":\u2060//")


def _code(text: str) -> str:
    """``text`` as code, fenced by more backticks than stand in it."""
    shown = visible(text) or " "
    ticks = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    space = " " if "`" in shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _fenced(lines: Sequence[str]) -> str:
    longest = max((len(run) for each in lines for run in re.findall("`+", each)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}diff", *lines, fence])
