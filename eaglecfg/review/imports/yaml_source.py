"""Foreign YAML (compose files, manifests) as plain data with every scalar in its spelling."""

from __future__ import annotations

import re
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.record import record
from eaglecfg.review.render.header import origin_of
from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath

_BETWEEN = re.compile(r"^---(?=[ \t\r\n]|\Z)[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
TEMPLATE = re.compile(r"\{\{.{1,500}?\}\}", re.S)
MOST_DOCUMENTS = 500


@record
class Part:
    """One document of a stream; ``line`` is where it begins in the whole, from 0."""

    document: Document
    line: int
    rendered: bool = False
    """eaglecfg wrote it, so that nothing in it is a template."""

    @property
    def data(self) -> Any:
        return self.document.data

    def text(self, path: KeyPath) -> str:
        """The scalar at ``path`` in its spelling; a null is empty."""
        place = self.document.places.get(path)
        if place is None or place.text is None:
            return ""
        return "" if not place.quoted and place.text in ("null", "~", "Null", "NULL") else place.text

    def at(self, path: KeyPath) -> int:
        """The line of ``path`` in the whole stream, from 1."""
        place = self.document.place(path)
        return self.line + (place.key or place.value).start.line

    def value(self, path: KeyPath) -> Any:
        """What stands at ``path``, None where nothing does."""
        found = self.data
        for step in path:
            if isinstance(found, dict) and isinstance(step, str):
                found = found.get(step)
            elif isinstance(found, list) and isinstance(step, int) and step < len(found):
                found = found[step]
            else:
                return None
        return found


def read_parts(text: str, name: str) -> list[Part]:
    """The documents of a stream that hold mappings. Raises UsageError for one that does not parse."""
    out = []
    start = 0
    rendered = origin_of(text) is not None
    ends = [found.start() for found in _BETWEEN.finditer(text)][:MOST_DOCUMENTS]
    for end in [*ends, len(text)]:
        piece = text[start:end]
        line = text.count("\n", 0, start)
        if piece.strip():
            # The mark of a document is left in: what stands behind it belongs to the document.
            document = parse_document(piece, name, ".")
            if document.data is None and document.problems:
                if all(problem.kind == "empty-file" for problem in document.problems):
                    start = end
                    continue
                problem = document.problems[0]
                hint = (
                    "; render the chart first: helm template ... | eaglecfg import -" if "{{" in piece else ""
                )
                raise UsageError(f"{name}:{line + problem.span.start.line}: {problem.message}{hint}")
            if isinstance(document.data, dict):
                out.append(Part(document, line, rendered))
        start = end
    return out
