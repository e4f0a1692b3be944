"""Fixes made in the text of files, pass after pass, until nothing changes any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from eaglecfg.record import record, replace
from eaglecfg.review.fixed_data import comes_to, same_text
from eaglecfg.rules.fixes import edits_of
from eaglecfg.rules.model import Fix, Severity
from eaglecfg.rules.outcome import Report, Reported
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document
from eaglecfg.source.edit import Editor, EditRefused, apply_edits
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath, show_path

MOST_PASSES = 50
"""A fix may open the way for another one, and items of one list go one by one."""

BYTE_ORDER_MARK = "\ufeff"

Check = Callable[[Sequence[Document]], Report]


@record
class Left:
    """A fix that was not made, and why."""

    found: Reported
    reason: str


@record
class Fixed:
    """What came of it: documents with the new text, findings whose fix was made, and those left with why.

    ``report`` is about the new text. ``unsafe`` counts fixes that were left because they are guesses.
    """

    documents: tuple[Document, ...]
    made: tuple[Reported, ...]
    left: tuple[Left, ...]
    report: Report
    unsafe: int = 0


def fix(
    documents: Sequence[Document], check: Check, *, select: Collection[str] = (), unsafe: bool = False
) -> Fixed:
    """Make the fixes of findings of the rules ``select`` (ids; all when empty) in the text of ``documents``.

    ``check`` runs the rules. ``unsafe`` makes guesses as well. Files are not written here.
    """
    now, report = list(documents), check(documents)
    every: list[Reported] = []
    left: list[Left] = []
    seen = {_texts(now)}
    for _ in range(MOST_PASSES):
        after, made, left = _pass(now, _fixable(report, select, unsafe))
        if _texts(after) in seen:
            break
        result = check(after)
        if _worse(report, result):
            left += [Left(found, "with it the file could not be checked any more") for found in made]
            break
        every += made
        now, report = after, result
        seen.add(_texts(now))
    guesses = len(_fixable(report, select, True)) - len(_fixable(report, select, unsafe))
    return Fixed(tuple(now), tuple(every), tuple(left), report, guesses)


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


def _pass(
    documents: Sequence[Document], wanted: Sequence[Reported]
) -> tuple[list[Document], list[Reported], list[Left]]:
    """Make the fixes of every file that can be made and that everybody concerned agrees to."""
    after, made, left = list(documents), list[Reported](), list[Left]()
    for index, document in enumerate(documents):
        own = [found for found in wanted if found.document.name == document.name]
        users = _Users(document) if own else None
        agreed = []
        for found in own:
            try:
                assert users is not None
                users.agree(found, own)
                agreed.append(found)
            except EditRefused as refused:
                left.append(Left(found, str(refused)))
        whole = _at_once(document, agreed)
        if whole is not None:
            after[index] = whole
            made += agreed
            continue
        after[index], some, refusals = _one_by_one(document, agreed)
        made += some
        left += refusals
    return after, made, left


def _at_once(document: Document, wanted: Sequence[Reported]) -> Document | None:
    """``document`` with all fixes made in one go; None where some of them meet, or move what others want.

    Reading a file of many deployments again takes as long as checking it, so that one reading must do.
    """
    changes = [found.finding.fix for found in wanted if found.finding.fix is not None]
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
    document: Document, wanted: Sequence[Reported]
) -> tuple[Document, list[Reported], list[Left]]:
    """Make each fix that can be made, each in the text that the last one left."""
    now, made, left = document, list[Reported](), list[Left]()
    for found in wanted:
        change = found.finding.fix
        assert change is not None
        if not _untouched(document, now, change):
            continue  # another fix of this pass changed it; the next pass looks again
        try:
            new = _made(now, change)
        except EditRefused as refused:
            left.append(Left(found, str(refused)))
            continue
        if new.text != now.text:
            now = new
            made.append(found)
    return now, made, left


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
    for each in (change, *change.also):
        path = each.path
        old, new = before.places.get(path), now.places.get(path)
        if (old is None) != (new is None) or (old is not None and new is not None and old.text != new.text):
            return False
        if each.span is not None and each.span.start.line > len(now.lines):
            return False
        if each.span is not None and _line(before, each) != _line(now, each):
            return False
    return True


def _line(document: Document, change: Fix) -> str:
    assert change.span is not None
    return document.lines[change.span.start.line - 1]


class _Users:
    """Which deployments read the text that a fix is about, through ``defaults:``, anchors and aliases."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._readers: dict[KeyPath, set[str]] = {}
        if kind_of(document) == "config":
            for deployment in load_config(document).deployments:
                for path in deployment.origin.values():
                    self._readers.setdefault(path, set()).add(deployment.name)

    def agree(self, found: Reported, wanted: Iterable[Reported]) -> None:
        """Raise EditRefused where a deployment reads the same text and does not want it changed so."""
        asked, change = list(wanted), found.finding.fix
        assert change is not None
        for each in (change, *change.also):
            if each.kind in ("cut", "add"):
                if found.deployment is not None:
                    self._alone(each)
                continue
            group = same_text(self._document, each.path)
            readers = {name for path in group for name in self._readers.get(path, ())}
            if len(readers) < 2:
                continue
            agreed = self._agreed(each, group, asked)
            if None in agreed or readers <= agreed:
                continue
            others = ", ".join(sorted(readers - {name for name in agreed if name is not None}))
            what = show_path(each.path)
            raise EditRefused(f"{what} is shared with {others}, where nothing asks for the change")

    def _agreed(self, change: Fix, group: Collection[KeyPath], asked: Iterable[Reported]) -> set[str | None]:
        """The deployments that want this very change; None for a finding about the file."""
        agreed: set[str | None] = set()
        for found in asked:
            fix = found.finding.fix
            assert fix is not None
            for each in (fix, *fix.also):
                if (each.kind, each.text) == (change.kind, change.text) and each.path in group:
                    agreed.add(found.deployment)
        return agreed

    def _alone(self, change: Fix) -> None:
        """A key is added to a block that this deployment alone reads."""
        parent = change.path[:-1]
        while parent and parent not in self._document.places:
            parent = parent[:-1]
        place = self._document.places.get(parent)
        if change.kind == "add" and (parent[:1] == ("defaults",) or (place is not None and place.shared)):
            raise EditRefused(f"{show_path(parent)} is shared with other deployments")


def _texts(documents: Sequence[Document]) -> tuple[str, ...]:
    return tuple(document.text for document in documents)


def _worse(before: Report, after: Report) -> bool:
    """Whether something crashes, or cannot be taken apart, that was fine before."""
    order: Mapping[int, int] = {4: 2, 2: 1}
    return order.get(after.exit_code(), 0) > order.get(before.exit_code(), 0)
