"""YAML events to a tree of nodes with marks. Aliases stay nodes of their own, unlike in PyYAML's composer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from eaglecfg.source.characters import at
from eaglecfg.source.complaints import complaint
from eaglecfg.source.document import Problem
from eaglecfg.source.limits import MAX_DEPTH, MAX_VALUES

Mark = tuple[int, int]
"""Line and column, from 0, as the parser counts."""


@dataclass(slots=True, eq=False)
class Node:
    """One node. ``items`` are list items, or keys and values in turn for a mapping.

    ``start`` of a node with an anchor or a tag is where that begins. ``target`` is the node that an alias
    names, None where the anchor is unknown or still open (``cyclic``).
    """

    kind: Literal["scalar", "list", "map", "alias"]
    start: Mark
    end: Mark
    value: str = ""
    plain: bool = True
    flow: bool = False
    block_scalar: bool = False
    anchor: str | None = None
    tag: str | None = None
    items: list[Node] = field(default_factory=list)
    target: Node | None = None
    cyclic: bool = False


class Stopped(Exception):
    """The text cannot be taken in; ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class NodeReader:
    """Reads one document. After ``read``, ``problems`` holds the directives and further documents refused."""

    def __init__(self, text: str, lines: tuple[str, ...]) -> None:
        self._text = text
        self._lines = lines
        self._anchors: dict[str, Node] = {}
        self._open: list[Node] = []
        self._root: Node | None = None
        self.problems: list[Problem] = []

    def read(self) -> Node | None:
        """The root node, None for a text without content. Raises Stopped where the text does not parse."""
        documents = 0
        for count, event in enumerate(self._events()):
            if count > MAX_VALUES:
                raise Stopped(too_many(event.start_mark.line + 1, event.start_mark.column + 1))
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._second_document(event)
                    break
                if event.version or event.tags:
                    self._directive()
            elif isinstance(event, yaml.NodeEvent):
                self._add(event)
            elif isinstance(event, yaml.CollectionEndEvent) and event.end_mark is not None:
                done = self._open.pop()
                # A block collection ends where the next token begins, which may be far below.
                if done.flow or not done.items:
                    done.end = (event.end_mark.line, event.end_mark.column)
                else:
                    done.end = done.items[-1].end
        return self._root

    def _events(self) -> Iterator[Any]:
        # Only builds of PyYAML without libyaml lack the C loader.
        loader_class: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        try:
            loader = loader_class(self._text)
            while loader.check_event():
                yield loader.get_event()
        except yaml.YAMLError as error:
            raise Stopped(complaint(error, self._lines)) from None
        except RecursionError:
            raise Stopped(too_deep(1, 1)) from None

    def _add(self, event: Any) -> None:
        start = event.start_mark.line, event.start_mark.column
        end = event.end_mark.line, event.end_mark.column
        anchor = event.anchor
        if isinstance(event, yaml.AliasEvent):
            target = self._anchors.get(anchor)
            cyclic = target is not None and any(target is node for node in self._open)
            node = Node("alias", start, end, anchor=anchor, target=None if cyclic else target, cyclic=cyclic)
        elif isinstance(event, yaml.ScalarEvent):
            style = event.style or ""
            node = Node(
                "scalar", start, end, event.value, not style, False, style in ("|", ">"), anchor, event.tag
            )
        else:
            kind: Literal["list", "map"] = "map" if isinstance(event, yaml.MappingStartEvent) else "list"
            node = Node(kind, start, end, flow=bool(event.flow_style), anchor=anchor, tag=event.tag)
        if self._open:
            self._open[-1].items.append(node)
        else:
            self._root = node
        if anchor is not None and node.kind != "alias":
            self._anchors[anchor] = node
        if node.kind in ("list", "map"):
            self._open.append(node)
            if len(self._open) > MAX_DEPTH:
                raise Stopped(too_deep(start[0] + 1, start[1] + 1))

    def _directive(self) -> None:
        line = next((i for i, text in enumerate(self._lines) if text.startswith("%")), 0)
        self.problems.append(
            Problem(
                "directive",
                f"the directive {self._lines[line][:20].strip()} is not taken: the file is read as YAML 1.2",
                at(line + 1, 1, max(1, len(self._lines[line].rstrip()))),
                "remove the line",
            )
        )

    def _second_document(self, event: Any) -> None:
        line, column = event.start_mark.line, event.start_mark.column
        self.problems.append(
            Problem(
                "second-document",
                "one document per file is expected, a second one begins here",
                at(line + 1, column + 1, 3),
                "put it into a file of its own; several files can be checked in one call",
            )
        )


def too_many(line: int, column: int) -> Problem:
    """The problem of a file with more values than the limit."""
    return Problem(
        "too-many-values",
        f"at most {MAX_VALUES:,} values are expected once aliases are followed, this file has more",
        at(line, column),
        "write the shared part once under defaults: instead of nesting aliases",
    )


def too_deep(line: int, column: int) -> Problem:
    """The problem of a file that nests deeper than the limit."""
    return Problem(
        "too-deep",
        f"at most {MAX_DEPTH} levels of nesting are expected, this goes deeper",
        at(line, column),
        "look for an unclosed bracket above",
    )
