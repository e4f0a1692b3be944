"""A tree of nodes to plain data and places, with everything refused that config files should not hold."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from eaglecfg.source.characters import control_in_value
from eaglecfg.source.document import Problem
from eaglecfg.source.limits import MAX_DEPTH, MAX_PROBLEMS, MAX_VALUES, SHOWN_CHARACTERS
from eaglecfg.source.nodes import Mark, Node, Stopped, too_deep, too_many
from eaglecfg.source.scalars import ScalarRefused, plain_value
from eaglecfg.source.span import KeyPath, Place, Position, Span, show_path

_PROPERTIES = re.compile(r"(?:(?:!<[^>\s]*>|[&!][^\s,\[\]{}]*)(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*)+")
_TAG = re.compile(r"!<[^>\s]*>|![^\s,\[\]{}]*")

_NO_VALUE = object()


class Builder:
    """Walks a node tree once, following aliases within the budget; fills ``places`` and ``problems``."""

    def __init__(self, text: str, lines: tuple[str, ...]) -> None:
        self._text = text
        self._lines = lines
        self._line_starts = [0]
        for line in text.split("\n"):
            self._line_starts.append(self._line_starts[-1] + len(line) + 1)
        self._visits = 0
        self._aliases = 0
        self.places: dict[KeyPath, Place] = {}
        self.problems: list[Problem] = []

    def build(self, root: Node) -> Any:
        """Plain data of the whole document. Raises Stopped beyond the limits on values and depth."""
        return self._visit(root, (), None, False)

    def _visit(
        self, node: Node, path: KeyPath, key: Span | None, shared: bool, alias: Span | None = None
    ) -> Any:
        self._count(node)
        if len(path) > MAX_DEPTH:
            raise Stopped(too_deep(node.start[0] + 1, node.start[1] + 1))
        if node.kind == "alias":
            return self._follow(node, path, key, alias)
        shared = shared or node.anchor is not None
        span = self._span(node)
        if node.tag is not None:
            self._tag(node, path)
        if node.kind == "scalar":
            value = self._scalar(node, path, span)
            origin = span if alias is not None else None
            self.places[path] = Place(key, alias or span, node.value, not node.plain, shared, origin)
            return value
        origin = span if alias is not None else None
        self.places[path] = Place(key, alias or span, None, False, shared, origin)
        if node.kind == "list":
            return [self._visit(item, (*path, i), None, shared) for i, item in enumerate(node.items)]
        return self._mapping(node, path, shared)

    def _count(self, node: Node) -> None:
        self._visits += 1
        if self._visits > MAX_VALUES:
            raise Stopped(too_many(node.start[0] + 1, node.start[1] + 1))

    def _follow(self, node: Node, path: KeyPath, key: Span | None, alias: Span | None) -> Any:
        span = alias or self._span(node)
        if node.target is not None:
            self._aliases += 1
            value = self._visit(node.target, path, key, True, span)
            self._aliases -= 1
            return value
        self.places[path] = Place(key, span, f"*{node.anchor}", False, True)
        name = f"*{node.anchor}"[:SHOWN_CHARACTERS]
        if node.cyclic:
            message, help = f"{name} stands inside the value that it names", "write the value out"
            self._report(Problem("cycle", message, span, help, path))
        else:
            message = f"{name} names no anchor that stands above it"
            help = f"write &{name[1:]} before the value that is meant, or put the text in quotes"
            self._report(Problem("unknown-alias", message, span, help, path))
        return None

    def _mapping(self, node: Node, path: KeyPath, shared: bool) -> dict[str, Any]:
        out: dict[str, Any] = {}
        values: dict[str, Node] = {}
        merged: list[tuple[Span, Node]] = []
        for key_node, value_node in zip(node.items[::2], node.items[1::2], strict=True):
            key_span = self._span(key_node)
            if key_node.kind == "scalar" and key_node.plain and key_node.value == "<<":
                self._refuse_merge(key_span, path)
                merged.append((key_span, value_node))
                continue
            key = self._key(key_node, key_span, path)
            if key is None:
                continue
            if key in out:
                again = _alike(values[key], value_node)
                spare = Span(key_span.start, self._span(value_node).end) if again else None
                self._duplicate(key, key_span, path, spare)
                continue
            values[key] = value_node
            out[key] = self._visit(value_node, (*path, key), key_span, shared)
        for key_span, source in merged:
            self._merge(source, key_span, path, out)
        return out

    def _key(self, node: Node, span: Span, path: KeyPath) -> str | None:
        """The key as text, also a refused one, so that what is under it can be checked. None: no text."""
        if node.kind == "alias" and node.target is not None:
            node = node.target
        if node.kind != "scalar":
            message = "a key must be text; this one is a list, a mapping or an unknown alias"
            self._report(Problem("key-not-text", message, span, "write the key as text", path))
            return None
        shown = node.value[:SHOWN_CHARACTERS]
        if control_in_value(node.value):
            message = f"the key {shown!r} holds a control character"
            self._report(Problem("control-character", message, span, "write it without the escape", path))
            return None
        if node.plain and not self._is_text(node.value):
            message = f"a key must be text, but {shown or 'an empty key'} is a number, true, false or null"
            help = f'put the key in quotes: "{shown}"' if shown else "write a key before the colon"
            self._report(Problem("key-not-text", message, span, help, (*path, node.value)))
        return node.value

    @staticmethod
    def _is_text(text: str) -> bool:
        try:
            return isinstance(plain_value(text), str)
        except ScalarRefused:
            return False

    def _duplicate(self, key: str, span: Span, path: KeyPath, spare: Span | None) -> None:
        first = self.places[(*path, key)].key
        where = f" in {show_path(path)}" if path else ""
        self._report(
            Problem(
                "duplicate-key",
                f'key "{key[:SHOWN_CHARACTERS]}" appears twice{where}',
                span,
                "keep one of the two",
                (*path, key),
                first,
                "first written here",
                spare,
            )
        )

    def _refuse_merge(self, span: Span, path: KeyPath) -> None:
        help = "put what the deployments share under defaults: at the top; it is merged under each of them"
        self._report(Problem("merge-key", "the merge key << is not taken", span, help, path))

    def _merge(self, source: Node, key: Span, path: KeyPath, out: dict[str, Any]) -> None:
        """Take in what a refused merge key would bring, so that none of it is reported as missing."""
        self._count(source)
        alias = self._span(source) if source.kind == "alias" else None
        if source.kind == "alias":
            source = source.target or Node("map", source.start, source.end)
        self._aliases += 1
        if source.kind == "list":
            for item in source.items:
                self._merge(item, key, path, out)
        elif source.kind == "map":
            nested: list[Node] = []
            for key_node, value_node in zip(source.items[::2], source.items[1::2], strict=True):
                name = key_node.value
                if name == "<<":
                    nested.append(value_node)
                elif key_node.kind == "scalar" and name not in out:
                    out[name] = self._visit(value_node, (*path, name), key, True, alias)
            for inner in nested:
                self._merge(inner, key, path, out)
        self._aliases -= 1

    def _scalar(self, node: Node, path: KeyPath, span: Span) -> Any:
        if (control := control_in_value(node.value)) is not None:
            message = f"{show_path(path)} holds the control character U+{ord(control):04X}"
            self._report(Problem("control-character", message, span, "write it without the escape", path))
            return None
        if not node.plain:
            return node.value
        try:
            return plain_value(node.value)
        except ScalarRefused as refused:
            self._report(Problem(refused.kind, str(refused), span, refused.help, path))
            return node.value

    def _tag(self, node: Node, path: KeyPath) -> None:
        offset = self._offset(node.start)
        found = _TAG.search(self._text, offset)
        start = self._position(found.start()) if found else _position(node.start)
        end = self._position(found.end()) if found else _position(node.end)
        shown = found[0][:SHOWN_CHARACTERS] if found else str(node.tag)[:SHOWN_CHARACTERS]
        help = "remove the tag; a number is written without quotes, text may be in quotes"
        self._report(Problem("tag", f"the tag {shown} is not taken", Span(start, end), help, path))

    def _report(self, problem: Problem) -> None:
        # What stands at an anchor is reported there, not once more for every alias.
        if self._aliases:
            return
        if len(self.problems) == MAX_PROBLEMS:
            message = f"more than {MAX_PROBLEMS} problems; the file is not read further than this"
            raise Stopped(Problem("too-many-problems", message, problem.span, "solve the ones above first"))
        self.problems.append(problem)

    def _span(self, node: Node) -> Span:
        start, end = node.start, node.end
        if node.kind == "map" and not node.flow and node.items:
            start = node.items[0].start
        elif node.kind != "alias" and (node.anchor is not None or node.tag is not None):
            offset = self._offset(start)
            found = _PROPERTIES.match(self._text, offset, self._offset(end))
            if found:
                position = self._position(found.end())
                start = position.line - 1, position.column - 1
        if node.block_scalar:
            end = self._block_end(start, end)
        elif node.kind in ("list", "map") and not node.flow and node.items:
            last = node.items[-1]
            end = self._block_end(last.start, last.end) if last.block_scalar else end
        return Span(_position(start), _position(max(start, end)))

    def _block_end(self, start: Mark, end: Mark) -> Mark:
        """End of a block scalar's last line of text; the parser puts it at the start of what follows."""
        line, column = end
        while (column == 0 and line > start[0]) or line >= len(self._lines):
            line -= 1
            column = len(self._lines[line].rstrip())
        return line, column

    def _offset(self, mark: Mark) -> int:
        return self._line_starts[min(mark[0], len(self._line_starts) - 1)] + mark[1]

    def _position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset) - 1
        return Position(line + 1, offset - self._line_starts[line] + 1)


def _alike(one: Node, other: Node) -> bool:
    """Whether two nodes are written the same, as far as a machine can be sure: no anchors, no tags."""
    plain = all(node.anchor is None and node.tag is None for node in (one, other))
    same = (one.kind, one.value, one.plain) == (other.kind, other.value, other.plain)
    return plain and same and len(one.items) == len(other.items) and all(map(_alike, one.items, other.items))


def _position(mark: Mark) -> Position:
    return Position(mark[0] + 1, mark[1] + 1)
