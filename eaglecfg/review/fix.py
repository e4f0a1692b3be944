"""Fixes made in the text of files, pass after pass, until nothing changes any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from eaglecfg.record import record, replace
from eaglecfg.review.fixed_data import comes_to, value_at
from eaglecfg.review.running import Running, running, runs_otherwise
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.fingerprint import fingerprints
from eaglecfg.rules.fixes import edits_of
from eaglecfg.rules.model import Fix, Severity
from eaglecfg.rules.outcome import Report, Reported
from eaglecfg.rules.sharing import Sharing
from eaglecfg.source.document import Document
from eaglecfg.source.edit import Editor, EditRefused, apply_edits
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath

MOST_PASSES = 50
"""A fix may open the way for another one, and items of one list go one by one."""

BYTE_ORDER_MARK = "\ufeff"

Check = Callable[[Sequence[Document]], Report]
_Agreed = tuple[Reported, Fix]
"""A finding, and its fix as everybody who reads the text agrees to it."""


@record
class Left:
    """A fix that was not made, and why."""

    found: Reported
    reason: str


@record
class Fixed:
    """What came of it: documents with the new text, findings whose fix was made, and those left with why.

    ``report`` is about the new text. ``unsafe`` counts fixes that were left because they are not safe.
    """

    documents: tuple[Document, ...]
    made: tuple[Reported, ...]
    left: tuple[Left, ...]
    report: Report
    unsafe: int = 0


def fix(
    documents: Sequence[Document],
    check: Check,
    *,
    select: Collection[str] = (),
    unsafe: bool = False,
    checkpoints: Checkpoints | None = None,
) -> Fixed:
    """Make the fixes of findings of the rules ``select`` (ids; all when empty) in the text of ``documents``.

    ``check`` runs the rules. Without ``unsafe`` only those are made that leave what runs as it is: those
    that say so, and of which that holds. ``checkpoints`` are those that ``check`` read. Files are not
    written here.
    """
    now, report = list(documents), check(documents)
    keeps = None if unsafe else _Keeps(checkpoints or Checkpoints())
    every: list[Reported] = []
    left: list[Left] = []
    seen = {_texts(now)}
    for _ in range(MOST_PASSES):
        after, made, left = _pass(now, _fixable(report, select, unsafe), keeps)
        if _texts(after) in seen:
            break
        result = check(after)
        if (reason := _worse(report, result)) is not None:
            left += [Left(found, reason) for found in made]
            break
        every += _once(made)
        now, report = after, result
        seen.add(_texts(now))
    waiting = len(_fixable(report, select, True)) - len(_fixable(report, select, unsafe))
    return Fixed(tuple(now), tuple(every), tuple(left), report, waiting)


def _once(made: Sequence[Reported]) -> list[Reported]:
    """``made`` without repeats: one text that several deployments read is changed once."""
    kept = {
        (each.document.name, each.rule.id, each.span, each.finding.fix.title): each
        for each in reversed(made)
        if each.finding.fix is not None
    }
    return list(kept.values())[::-1]


def _fixable(report: Report, select: Collection[str], unsafe: bool) -> list[Reported]:
    rank = [Severity.ERROR, Severity.WARNING, Severity.INFO]
    found = [
        each
        for each in report.findings
        if (fix := each.finding.fix) is not None
        and (fix.safe or unsafe)
        and (not select or each.rule.id in select)
    ]
    return sorted(found, key=lambda each: (rank.index(each.severity), each.span.start, each.rule.id))


class _Keeps:
    """Whether what runs for a file stays as it is. What each text comes to is worked out once."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._known: dict[tuple[str, str], Running] = {}

    def otherwise(self, before: Document, after: Document, changes: Sequence[Fix]) -> str:
        """What would run otherwise, in words; empty where all stays."""
        return runs_otherwise(self._running(before), self._running(after), changes)

    def _running(self, document: Document) -> Running:
        key = document.name, document.text
        if key not in self._known:
            self._known[key] = running(document, self._checkpoints)
        return self._known[key]


def _pass(
    documents: Sequence[Document], wanted: Sequence[Reported], keeps: _Keeps | None
) -> tuple[list[Document], list[Reported], list[Left]]:
    """Make the fixes of every file that can be made and that everybody concerned agrees to."""
    after, made, left = list(documents), list[Reported](), list[Left]()
    for index, document in enumerate(documents):
        own = [found for found in wanted if found.document.name == document.name]
        sharing = Sharing(document)
        agreed: list[_Agreed] = []
        for found in own:
            try:
                agreed.append((found, sharing.settle(found, own)))
            except EditRefused as refused:
                left.append(Left(found, str(refused)))
        changes = [change for _, change in agreed]
        whole = _at_once(document, changes)
        if whole is not None and not (keeps and keeps.otherwise(document, whole, changes)):
            after[index] = whole
            made += _distinct(document, agreed)
            continue
        after[index], some, refusals = _one_by_one(document, agreed, keeps)
        made += some
        left += refusals
    return after, made, left


def _distinct(document: Document, agreed: Sequence[_Agreed]) -> list[Reported]:
    """The findings, without those of a rule whose change another one of it has made already.

    A merge key brings one line into several deployments, each of which names a place of its own.
    """
    editor = Editor(document)
    kept = {
        (found.rule.id, change.title, edits_of(document, change, editor)): found
        for found, change in reversed(agreed)
    }
    return list(kept.values())[::-1]


def _at_once(document: Document, changes: Sequence[Fix]) -> Document | None:
    """``document`` with all changes made in one go; None where some of them meet, or move what others want.

    Reading a file of many deployments again takes as long as checking it, so that one reading must do.
    """
    if not changes or any(change.also for change in changes):
        return None
    editor = Editor(document)
    try:
        edits = {edit for change in changes for edit in edits_of(document, change, editor)}
        after = _read_again(document, apply_edits(document.text, edits))
    except EditRefused:
        return None
    return after if after.text != document.text and comes_to(document, after, changes) else None


def _one_by_one(
    document: Document, wanted: Sequence[_Agreed], keeps: _Keeps | None
) -> tuple[Document, list[Reported], list[Left]]:
    """Make each fix that can be made, each in the text that the last one left."""
    now, made, left = document, list[Reported](), list[Left]()
    for found, change in sorted(wanted, key=_turn):
        if not _untouched(document, now, change):
            continue  # another fix of this pass changed it; the next pass looks again
        try:
            new = _made(now, change)
        except EditRefused as refused:
            left.append(Left(found, str(refused)))
            continue
        if keeps and (otherwise := keeps.otherwise(now, new, [change])):
            left.append(Left(found, f"it is not safe here ({otherwise}); --unsafe makes it all the same"))
            continue
        if new.text != now.text:
            now = new
            made.append(found)
    return now, made, left


def _turn(agreed: _Agreed) -> tuple[bool, int]:
    """What takes lines or items out comes last and from the end of the file, so that all can go in a pass."""
    found, change = agreed
    takes = change.kind == "cut" or (change.kind == "remove" and isinstance(change.path[-1], int))
    return takes, -found.span.start.line if takes else 0


def _made(document: Document, change: Fix) -> Document:
    """``document`` with the change made. Raises EditRefused."""
    # One after the other: a key that moves may leave the line behind which it is put down again.
    for each in (replace(change, also=()), *change.also):
        after = _read_again(document, apply_edits(document.text, edits_of(document, each)))
        if not comes_to(document, after, [each]):
            raise EditRefused("the text around it is written in a way that cannot be edited by machine")
        document = after
    return document


def _read_again(document: Document, text: str) -> Document:
    mark = BYTE_ORDER_MARK if any(each.kind == "byte-order-mark" for each in document.problems) else ""
    return parse_document(mark + text, document.name, document.folder)


def _untouched(before: Document, now: Document, change: Fix) -> bool:
    """Whether the places that ``change`` is about still hold what the finding saw."""
    return all(
        _same_value(before, now, each.path)
        and _same_items(before, now, each.path)
        and _same_cut(before, now, each)
        for each in (change, *change.also)
    )


def _same_value(before: Document, now: Document, path: KeyPath) -> bool:
    """Whether ``path`` holds what it held; for the way to a comment, which is empty, it always does."""
    if not path:
        return True
    old, new = before.places.get(path), now.places.get(path)
    if old is None or new is None:
        return old is new
    return old.text == new.text and value_at(before, path) == value_at(now, path)


def _same_items(before: Document, now: Document, path: KeyPath) -> bool:
    """Whether no list on the way to ``path`` lost an item up to the one that is meant.

    Its index would stand for another item.
    """
    for depth, part in enumerate(path):
        if not isinstance(part, int):
            continue
        old, new = value_at(before, path[:depth]), value_at(now, path[:depth])
        if not isinstance(old, list) or not isinstance(new, list):
            return False
        if len(old) != len(new) and old[: part + 1] != new[: part + 1]:
            return False
    return True


def _same_cut(before: Document, now: Document, change: Fix) -> bool:
    """Whether the text to be cut is the one that was meant, and not one like it on another line."""
    if change.span is None:
        return True
    number = change.span.start.line
    if before.lines[:number] == now.lines[:number]:
        return True
    return len(before.lines) == len(now.lines) and before.lines[number - 1] == now.lines[number - 1]


def _texts(documents: Sequence[Document]) -> tuple[str, ...]:
    return tuple(document.text for document in documents)


def _worse(before: Report, after: Report) -> str | None:
    """What is lost: it crashes, cannot be taken apart, or counts what was accepted; None for nothing."""
    order: Mapping[int, int] = {4: 2, 2: 1}
    if order.get(after.exit_code(), 0) > order.get(before.exit_code(), 0):
        return "with it the file could not be checked any more"
    accepted = set(_marked([each.found for each in before.accepted]))
    if accepted.intersection(_marked(after.findings)):
        return "with it a finding would count again that the file accepts"
    return None


def _marked(findings: Sequence[Reported]) -> list[tuple[str, str]]:
    names = (found.document.name for found in findings)
    return list(zip(names, fingerprints(findings), strict=True))
