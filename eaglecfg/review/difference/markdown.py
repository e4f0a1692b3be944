"""A comparison as a comment on a pull request: what a reviewer has to see first, bounded and escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eaglecfg.report.styled import visible
from eaglecfg.review.difference.compare import Change, Comparison, DeploymentDifference, FileDifference
from eaglecfg.review.difference.words import (
    NO_CHANGE,
    by_group,
    count_words,
    fact_words,
    finding_words,
    head_words,
    option_words,
    place_words,
    verdict_words,
)
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Reported

LARGEST = 60_000
"""Characters of the whole comment; GitHub takes 65,536, and a caller may add a line of its own."""

MOST = 12
"""Changes of one group, and findings of one kind, that are listed; the rest is counted."""

MARKER = "<!-- eaglecfg diff -->"
"""First line, by which a workflow finds the comment that it wrote before."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")
_MARK = {Severity.ERROR: "🔴", Severity.WARNING: "🟡", Severity.INFO: "🔵"}


def render(comparison: Comparison, fail_on: Severity, code: int) -> str:
    """The comment. ``code`` is the exit code that the comparison ends with."""
    blocks = [MARKER, f"### eaglecfg: {_code(comparison.before.spelled)} → {_code(comparison.after.spelled)}"]
    counts = [count_words(comparison), finding_words(comparison)]
    word, text = verdict_words(comparison, fail_on, code)
    blocks.append(f"**{' · '.join(part for part in counts if part)}** — {word}: {text}")
    for file in comparison.files:
        blocks += _file(file)
    if comparison.notes:
        blocks.append("\n".join(f"- note: {_text(note)}" for note in comparison.notes[:MOST]))
    return _bounded(blocks)


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
    for each in file.deployments:
        if each.in_effect:
            yield f"#### {_code(each.name)} in {_code(file.name)}: {_text(head_words(file, each))}"
            yield from _deployment(each)
    if file.changes or (file.study and file.in_effect):
        what = "study" if file.study else "defaults of flags that no deployment gives"
        yield f"#### {what} in {_code(file.name)}" + (f": {file.kind}" if file.study else "")
        yield from _tables(file.changes)
    if not file.in_effect and not file.findings.nothing:
        yield f"#### {_code(file.name)}: {'not compared' if file.kind == 'unreadable' else NO_CHANGE}"
    if file.results:
        yield "\n".join(f"- ⚠️ {_text(text)}" for text in file.results)
    yield from _findings(file)


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
                f"**{_text(change.name)}**" if group in ("capture", "draft", "engine") else _code(change.name)
            )
            before, after = (_text(fact_words(one, group)) for one in (change.before, change.after))
            rows.append(f"| {group} | {name} | {before} | {after} |")
        if more:
            rows.append(f"| {group} | and {more} more | | |")
    if rows:
        yield "\n".join(["| | | before | after |", "|---|---|---|---|", *rows])


def _findings(file: FileDifference) -> Iterator[str]:
    found = file.findings
    rows = [_finding("introduced", one) for one in found.introduced[:MOST]]
    rows += [_more(len(found.introduced), "introduced")]
    rows += [_finding("changed", new) for _, new in found.changed[:MOST]]
    rows += [_more(len(found.changed), "changed")]
    rows += [
        f"{_finding('accepted', each.found)}; the file says why: {_text(each.reason)}"
        for each in found.accepted[:MOST]
    ]
    rows += [_more(len(found.accepted), "accepted")]
    fixed = [f"- ✅ fixed: {_head(one)}" for one in found.fixed[:MOST]]
    rows += [*fixed, _more(len(found.fixed), "fixed")]
    if any(rows):
        yield "\n".join(row for row in rows if row)


def _finding(word: str, found: Reported) -> str:
    text = f"- {_MARK[found.severity]} {word}: {_head(found)} at {_code(place_words(found))}: "
    text += _text(visible(found.finding.message))
    return f"{text} ({_text(visible(found.finding.help))})" if found.finding.help else text


def _head(found: Reported) -> str:
    return f"**{found.severity} {found.rule.id}** {_text(found.rule.slug)}" + (
        f" in {_code(found.deployment)}" if found.deployment else ""
    )


def _more(count: int, word: str) -> str:
    return f"- and {count - MOST} more {word}" if count > MOST else ""


def _text(text: str) -> str:
    """Prose that Markdown and HTML take as it is: nothing in it formats, links, mentions or breaks a cell."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
    return escaped.replace("@", "@\u2060").replace("://", ":\u2060//")


def _code(text: str) -> str:
    """``text`` as code, fenced by more backticks than stand in it."""
    shown = visible(text).replace("|", "\\|") or " "
    ticks = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    space = " " if "`" in shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _fenced(lines: Sequence[str]) -> str:
    longest = max((len(run) for each in lines for run in re.findall("`+", each)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}diff", *lines, fence])
