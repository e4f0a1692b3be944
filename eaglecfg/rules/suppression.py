"""Findings that a file accepts: comments and ``suppress:`` to marks, and marks against findings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from eaglecfg.record import record
from eaglecfg.rules.outcome import Crash, Dropped, Reported, Skipped, Suppressed
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.schema.suppressions import holds_suppressions
from eaglecfg.rules.tidy import tidy
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath, Position, Span

NEVER = re.compile(r"EC0\d\d|EC12\d")
"""Rules whose findings stay: those about the text, without which nothing else can be relied on, and those
about suppressions."""

ASKED = re.compile(r"EC340|EC8[56]\d")
"""Rules that find something only where an installed engine or a running server is asked: that a plain run
finds nothing says nothing about their suppressions."""

_COMMENT = re.compile(r"(?:^|(?<=\s))#[ \t]*eaglecfg:")
_WORDS = re.compile(r"\s*(?P<word>[A-Za-z_-]+)\s*(?:\[(?P<names>[^\]]*)(?P<end>\]?))?[\s:–—-]*(?P<reason>.*)")
_KNOWN = {name: rule.id for rule in ALL_RULES for name in (rule.id, rule.slug)}


@record
class Mark:
    """One suppression as it is written.

    ``rules`` are ids, ``unknown`` names that are none. ``lines`` are those that a comment speaks of, None for
    an entry of ``suppress:``, which stands at ``path`` and may name a ``deployment``. ``slip`` says what is
    wrong with the writing itself; such a mark accepts nothing.
    """

    span: Span
    rules: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    reason: str = ""
    lines: frozenset[int] | None = None
    deployment: str | None = None
    path: KeyPath = ()
    slip: str = ""

    def accepts(self, found: Reported) -> bool:
        """Whether it speaks of this finding."""
        if found.rule.id not in self.rules or NEVER.fullmatch(found.rule.id):
            return False
        if self.lines is not None:
            return not self.lines.isdisjoint(_lines_of(found))
        return self.deployment is None or self.deployment == _deployment_of(found)


@record
class Unused:
    """A rule that a mark names and that found nothing there, though it was decided.

    Or, where ``reason`` is given, a rule that could not be decided for that, so that the run is incomplete
    whatever the mark says.
    """

    mark: Mark
    rule: str
    reason: str = ""


def marks_of(document: Document) -> tuple[Mark, ...]:
    """Every suppression of a file, in the order of its lines."""
    if not holds_suppressions(document) or not isinstance(document.data, dict):
        return ()
    found = [*_comments(document), *_entries(document)]
    return tuple(sorted(found, key=lambda mark: mark.span.start))


def sort_out(
    findings: Iterable[Reported], documents: Iterable[Document]
) -> tuple[list[Reported], list[Suppressed], set[tuple[str, int, str]]]:
    """Findings that count, findings that are accepted, and the uses of marks: file, number of mark, rule."""
    marks = {document.name: marks_of(document) for document in documents}
    kept: list[Reported] = []
    accepted: list[Suppressed] = []
    used: set[tuple[str, int, str]] = set()
    for found in findings:
        name = found.document.name
        fit = [(n, mark) for n, mark in enumerate(marks.get(name, ())) if mark.accepts(found)]
        if not fit:
            kept.append(found)
            continue
        used |= {(name, number, found.rule.id) for number, _ in fit}
        mark = next((mark for _, mark in fit if mark.reason), fit[0][1])
        accepted.append(Suppressed(found, tidy(mark.reason), mark.span, mark.lines is not None))
    return kept, accepted, used


def deployment_at(document: Document, mark: Mark) -> str | None:
    """The one deployment that ``mark`` can speak of; None where it can be any, or none."""
    if mark.lines is None:
        return mark.deployment
    held = document.data.get("deployments") if isinstance(document.data, dict) else None
    for name in held if isinstance(held, dict) else ():
        place = document.places.get(("deployments", name))
        if place is None or place.key is None:
            continue
        if any(place.key.start.line <= line <= place.value.end.line for line in mark.lines):
            return str(name)
    return None


def _comments(document: Document) -> Iterator[Mark]:
    spoken = [
        (number, match.start())
        for number, line in enumerate(document.lines, 1)
        if "eaglecfg:" in line
        for match in _COMMENT.finditer(line)
    ]
    if not spoken:
        return
    texts = _texts(document)
    for index, (number, start) in enumerate(spoken):
        at = Position(number, start + 1)
        if any(span.start <= at < span.end for span in texts):
            continue  # a # inside text is no comment
        line = document.lines[number - 1]
        last = (
            spoken[index + 1][1] if spoken[index + 1 : index + 2] and spoken[index + 1][0] == number else None
        )
        said = line[start:last].rstrip()
        span = Span(at, Position(number, start + len(said) + 1))
        mark = _read(said[said.index(":") + 1 :], span, _spoken_of(document, number, line, texts))
        if mark is not None:
            yield mark


def _texts(document: Document) -> list[Span]:
    """Where keys and scalars stand."""
    spans = []
    for place in document.places.values():
        spans += [place.key] if place.key is not None else []
        spans += [place.origin or place.value] if place.text is not None else []
    return spans


def _spoken_of(document: Document, number: int, line: str, texts: Sequence[Span]) -> frozenset[int]:
    """The line of the comment, or the next line that is more than a comment where it stands alone."""
    if not line.lstrip().startswith("#"):
        return frozenset((number,))
    for below in range(number + 1, len(document.lines) + 1):
        if not document.lines[below - 1].lstrip().startswith("#"):
            return frozenset((below,))
    return frozenset()


def _read(said: str, span: Span, lines: frozenset[int]) -> Mark | None:
    """The mark behind ``eaglecfg:``; None where the comment is prose."""
    found = _WORDS.match(said)
    if found is None or (found["word"].lower() != "ignore" and found["names"] is None):
        return None
    if found["word"] != "ignore":
        slip = f"eaglecfg knows no comment {found['word']}[...]"
        return Mark(span, lines=lines, slip=slip)
    if found["names"] is None or not found["names"].strip() or not found["end"]:
        return Mark(span, lines=lines, slip="the comment names no rule in brackets")
    names = [name.strip() for name in found["names"].split(",") if name.strip()]
    return _mark(names, span, found["reason"].strip(), lines=lines)


def _entries(document: Document) -> Iterator[Mark]:
    listed = document.data.get("suppress")
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        path: KeyPath = ("suppress", index)
        if not isinstance(entry, dict):
            continue  # the schema says so
        name, reason = (_spelled(document, (*path, key)) for key in ("rule", "reason"))
        if name is None or reason is None:
            continue
        deployment = _spelled(document, (*path, "deployment"))
        span = document.place((*path, "rule")).value
        yield _mark([name.strip()], span, reason.strip(), deployment=deployment, path=path)


def _spelled(document: Document, path: KeyPath) -> str | None:
    """A scalar as it is spelled; None for null, for other values and where there is none."""
    place = document.places.get(path)
    value: Any = document.data
    for part in path:
        value = value.get(part) if isinstance(value, dict) else value[part] if isinstance(part, int) else None
    return place.text if place is not None and value is not None else None


def _mark(names: Sequence[str], span: Span, reason: str, **given: Any) -> Mark:
    ids = [_KNOWN.get(name.upper(), _KNOWN.get(name.lower(), "")) for name in names]
    unknown = tuple(name for name, id in zip(names, ids, strict=True) if not id)
    return Mark(span, tuple(dict.fromkeys(filter(None, ids))), unknown, reason, **given)


def _lines_of(found: Reported) -> frozenset[int]:
    """The lines on which a comment can speak of the finding: of what it marks, and of the key above that."""
    lines = {found.span.start.line}
    path = found.finding.path
    while path:
        place = found.document.places.get(path)
        if place is not None and place.key is not None:
            lines.add(place.key.start.line)
            break
        path = path[:-1]
    return frozenset(lines)


def _deployment_of(found: Reported) -> str | None:
    path = found.finding.path
    if found.deployment is None and path[:1] == ("deployments",) and len(path) > 1:
        return str(path[1])
    if found.deployment is None and isinstance(found.document.data, dict):
        named = found.document.data.get("deployment")  # of a study
        return named if isinstance(named, str) else None
    return found.deployment


@record
class Ran:
    """How far a run went: ids of its rules, the deployments that were looked at, what stayed open.

    ``more`` counts by rule id the findings that are not listed.
    """

    rules: frozenset[str]
    deployments: frozenset[str]
    skipped: Sequence[Skipped]
    dropped: Sequence[Dropped]
    crashes: Sequence[Crash]
    more: Mapping[str, int]

    def incomplete(self, rule: str, document: Document, deployment: str | None) -> str:
        """Why ``rule`` could not look at ``deployment``, or part of ``document``; empty where it could."""
        for skip in self.skipped:
            here = skip.document.name == document.name and (
                deployment is None or skip.deployment in (deployment, None)
            )
            if skip.rule.id == rule and skip.incomplete and here:
                return skip.reason
        return ""

    def decided(self, rule: str, document: Document, deployment: str | None) -> bool:
        """Whether ``rule`` looked at ``deployment``, or at all of ``document`` where that is None."""
        if rule not in self.rules or self.more.get(rule) or ASKED.fullmatch(rule):
            return False
        if any(crash.rule is None or crash.rule.id == rule for crash in self.crashes):
            return False
        held = document.data.get("deployments") if isinstance(document.data, dict) else None
        named = {deployment} if deployment is not None else set(held if isinstance(held, dict) else ())
        if not named <= self.deployments:
            return False
        concerned = {*named, None}
        open_here = any(
            skip.rule.id == rule and skip.document.name == document.name and skip.deployment in concerned
            for skip in self.skipped
        )
        left_out = any(each.rule.id == rule and each.deployment in concerned for each in self.dropped)
        return not open_here and not left_out


def unused(document: Document, used: Collection[tuple[str, int, str]], ran: Ran) -> tuple[Unused, ...]:
    """The suppressions of ``document`` that had nothing to suppress.

    Of rules that were decided there, or that could not be for want of something to read.
    """
    out = []
    for number, mark in enumerate(marks_of(document)):
        for rule in mark.rules:
            if (document.name, number, rule) in used or NEVER.fullmatch(rule):
                continue
            spoken_of = deployment_at(document, mark)
            if reason := ran.incomplete(rule, document, spoken_of):
                out.append(Unused(mark, rule, reason))
            elif ran.decided(rule, document, spoken_of):
                out.append(Unused(mark, rule))
    return tuple(out)
