"""Edits of a document's text by span: comments, quotes, anchors and layout around them stay as they are."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from eaglecfg.record import record
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath, Place, Position, Span, show_path

PLAIN = re.compile(r"-?[A-Za-z0-9_./+][A-Za-z0-9_./+-]*")
"""Scalars that need no quotes in any context."""

_TAG_IN_FRONT = re.compile(r"(?<![^\s,\[{:-])(!(?:<[^>\s]*>|[^\s,\[\]{}]*))(?:\s+&[^\s,\[\]{}]+)?\s+\Z")
_LONGEST_TAG = 200

_BEGINS_WHOLE = ("[", "{", '"', "'")


@record
class Edit:
    """New text for the characters from ``start`` up to ``end`` (code points of the document's text)."""

    start: int
    end: int
    text: str


class EditRefused(Exception):
    """An edit that cannot be made without changing something else. The text says why, without a subject."""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all edits made. Raises EditRefused where two of them overlap."""
    before = len(text)
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        if edit.end > before:
            raise EditRefused("two changes meet in the same text")
        text = text[: edit.start] + edit.text + text[edit.end :]
        before = edit.start
    return text


class Editor:
    """Finds the edit for one change of ``document``, which has to be parsed.

    Every method raises EditRefused where the change cannot be made by span.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self._starts = [0]
        for line in document.text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.newline = "\r\n" if document.text.count("\r\n") * 2 > document.text.count("\n") else "\n"

    def set(
        self,
        path: KeyPath,
        text: str,
        *,
        as_text: bool = False,
        comments_go: bool = False,
        at_alias: bool = False,
    ) -> Edit:
        """Give the value at ``path`` the source text ``text``, quoted where it has to be.

        ``as_text``: the value means its spelling, so that quotes around it may stay. ``comments_go``: those
        inside a list or a mapping may go with it. ``at_alias``: write it in place of an alias, so that the
        text behind the anchor stays.
        """
        place = self._place(path)
        if at_alias and place.origin is not None:
            return Edit(self.offset(place.value.start), self.offset(place.value.end), self._spelled(text, ""))
        span = place.origin or place.value
        start, end = self.offset(span.start), self.offset(span.end)
        tag = _TAG_IN_FRONT.search(self.document.text[max(0, start - _LONGEST_TAG) : start])
        if tag is not None:
            raise EditRefused(f"the tag {tag[1]} stands in front of the value; take it out first")
        old = self.document.text[start:end]
        if place.text is None:
            if "#" in old and not comments_go:
                raise EditRefused("a comment stands inside the value")
            if place.origin is None and place.key is not None and span.start.line != place.key.end.line:
                start = self._behind_colon(place.key)
        elif old[:1] in ("|", ">"):
            raise EditRefused("the value is a block of text")
        new = self._spelled(text, old if place.quoted and as_text else "")
        apart = self.document.text[start - 1 : start] in ("", " ", "\t", "\n", "[", "{")
        return Edit(start, end, new if apart else f" {new}")

    def rename(self, path: KeyPath, name: str) -> Edit:
        """Write ``name`` for the key at ``path``; its quotes stay."""
        key = self._key(path)
        if (*path[:-1], name) in self.document.places:
            raise EditRefused(f"{show_path((*path[:-1], name))} is there already")
        start, end = self.offset(key.start), self.offset(key.end)
        old = self.document.text[start:end]
        return Edit(start, end, self._spelled(name, old if old[:1] in ('"', "'") else ""))

    def remove(self, path: KeyPath, kept: int = 1) -> Edit:
        """Take a key and its value, or an item of a list, out; with the block that it was alone in.

        Blocks at a depth of up to ``kept`` are not taken out so. Lines of comments in between stay.
        """
        self._place(path)
        siblings = self._siblings(path)
        if len(siblings) == 1 and (len(path) - 1 > kept or isinstance(path[-1], int)):
            return self.remove(path[:-1], kept)
        if len(siblings) == 1:
            raise EditRefused("it is the only key there")
        start, end = self._extent(path)
        parent = self._place(path[:-1])
        if self.document.text[self.offset((parent.origin or parent.value).start)] in "{[":
            return self._remove_from_flow(path, siblings, start, end)
        line = self.document.text.rfind("\n", 0, start) + 1
        before = self.document.text[line:start].strip()
        if before != ("-" if isinstance(path[-1], int) else ""):
            raise EditRefused("something else stands in front of it on its line")
        last = self.line_end(end)
        rest = self.document.text[end:last].strip()
        if rest and not rest.startswith("#"):
            raise EditRefused("something else stands behind it on its line")
        return self._lines(line, last, self._comments(path, line, last))

    def cut(self, span: Span) -> Edit:
        """Take text out that holds no data: a comment, or a key that is written again.

        Its line goes where nothing else stands there, and a comma where two would be left.
        """
        text, start, end = self.document.text, self.offset(span.start), self.offset(span.end)
        line, last = text.rfind("\n", 0, start) + 1, self.line_end(end)
        if not (text[line:start] + text[end:last]).strip():
            return self._lines(line, last)
        while start > line and text[start - 1] in " \t":
            start -= 1
        rest = text[end:].lstrip()
        if text[start - 1 : start] == "," and rest[:1] == ",":
            end = text.index(",", end) + 1
        elif text[start - 1 : start] == "," and rest[:1] == "}":
            start -= 1
        return Edit(start, end, "")

    def add(self, path: KeyPath, text: str) -> Edit:
        """Make a key of ``path`` with the value ``text``, in the nearest block that stands in the file."""
        if path in self.document.places:
            raise EditRefused(f"{show_path(path)} is there already")
        depth, entry = len(path) - 1, f"{self._spelled(str(path[-1]), '')}: {self._spelled(text, '')}"
        while depth and path[:depth] not in self.document.places:
            depth -= 1
            entry = f"{self._spelled(str(path[depth]), '')}: {{{entry}}}"
        holder = self._value(path[:depth])
        if holder is None or holder == {}:
            return self.set(path[:depth], f"{{{entry}}}")
        return self.insert(path[:depth], entry)

    def insert(self, parent: KeyPath, entry: str) -> Edit:
        """Add ``key: value`` as the last entry of a mapping, in its own style."""
        place, held = self._place(parent), self._value(parent)
        if not isinstance(held, dict) or not held:
            raise EditRefused(f"{show_path(parent)} is no mapping with entries")
        span = place.origin or place.value
        if self.document.text[self.offset(span.start)] == "{":
            last = self._place((*parent, list(held)[-1]))
            at = self.offset(last.value.end)
            return Edit(at, at, f", {entry}")
        first = self._place((*parent, next(iter(held)))).key
        indent = " " * ((first.start.column if first is not None else 1) - 1)
        at = self.line_end(self.offset(span.end))
        return Edit(at, at, f"{self.newline}{indent}{entry}")

    def offset(self, position: Position) -> int:
        """The index in the text of a position."""
        return self._starts[position.line - 1] + position.column - 1

    def position(self, offset: int) -> Position:
        """The position of an index in the text."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def line_end(self, offset: int) -> int:
        """Where the line around ``offset`` ends, its line break not included."""
        text = self.document.text
        found = text.find("\n", offset)
        found = len(text) if found < 0 else found
        return found - 1 if found > offset and text[found - 1] == "\r" else found

    def _lines(self, start: int, end: int, kept: Sequence[str] = ()) -> Edit:
        """Take whole lines out, from the start of the first to the end of the last one's text.

        The lines ``kept`` stand there then.
        """
        text = self.document.text
        if kept:
            return Edit(start, end, self.newline.join(kept))
        if end < len(text):
            return Edit(start, end + (2 if text.startswith("\r\n", end) else 1), "")
        # Without a line break at the end the one in front goes.
        before = start - (2 if text.endswith("\r\n", 0, start) else 1)
        return Edit(max(0, before), end, "")

    def _comments(self, path: KeyPath, start: int, end: int) -> list[str]:
        """The lines of comments between two indices, which end lines of what stands at ``path``.

        They are people's: a block that goes leaves them. Lines of texts that look alike are none.
        """
        rows = self.document.text[start:end].split("\n")
        if not any(row.lstrip().startswith("#") for row in rows):
            return []
        first = self.position(start).line
        inside = {
            number
            for at, place in self.document.places.items()
            if at[: len(path)] == path and place.text is not None and place.origin is None
            for number in range(place.value.start.line + 1, place.value.end.line + 1)
        }
        return [
            row.removesuffix("\r")
            for number, row in enumerate(rows, first)
            if row.lstrip().startswith("#") and number not in inside
        ]

    def _extent(self, path: KeyPath) -> tuple[int, int]:
        """From the key, or the item, to the end of its value."""
        place = self._place(path)
        start = place.key.start if place.key is not None else place.value.start
        return self.offset(start), self.offset(place.value.end)

    def _remove_from_flow(self, path: KeyPath, siblings: list[str | int], start: int, end: int) -> Edit:
        index = siblings.index(path[-1])
        if index:
            start = self._extent((*path[:-1], siblings[index - 1]))[1]
        else:
            end = self._extent((*path[:-1], siblings[1]))[0]
        if "#" in self.document.text[start:end]:
            raise EditRefused("a comment stands between the entries")
        return Edit(start, end, "")

    def _siblings(self, path: KeyPath) -> list[str | int]:
        """The keys, or the items, beside ``path`` in the order of the text."""
        holder = self._value(path[:-1])
        if not isinstance(holder, dict | list):
            raise EditRefused(f"{show_path(path[:-1])} is no mapping")
        names: list[str | int] = [*(holder if isinstance(holder, dict) else range(len(holder)))]
        return sorted(names, key=lambda name: self._extent((*path[:-1], name)))

    def _value(self, path: KeyPath) -> Any:
        found = self.document.data
        for part in path:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    def _place(self, path: KeyPath) -> Place:
        place = self.document.places.get(path)
        if place is None:
            raise EditRefused(f"{show_path(path) or 'the file'} does not stand in the file")
        return place

    def _key(self, path: KeyPath) -> Span:
        key = self._place(path).key
        if key is None:
            raise EditRefused(f"{show_path(path)} is no key")
        return key

    def _behind_colon(self, key: Span) -> int:
        """The index behind the colon of ``key``."""
        text, at = self.document.text, self.offset(key.end)
        while at < len(text) and text[at] in " \t":
            at += 1
        if text[at : at + 1] != ":":
            raise EditRefused("the key has no colon behind it")
        return at + 1

    @staticmethod
    def _spelled(text: str, old: str) -> str:
        """``text`` as it can stand in any context, in the quotes of ``old`` where it has some."""
        if text[:1] in _BEGINS_WHOLE:
            return text
        if old[:1] == "'" and text.isprintable():
            return "'" + text.replace("'", "''") + "'"
        if old[:1] == '"' or not PLAIN.fullmatch(text):
            return json.dumps(text, ensure_ascii=False)
        return text
