"""What the rules about suppressions share: for files without one, no more than the look for a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eaglecfg.rules.model import Fix
from eaglecfg.source.document import Document

if TYPE_CHECKING:
    from eaglecfg.rules.suppression import Mark

DIRECTIVE = "eaglecfg:"


def holds_suppressions(document: Document) -> bool:
    """Whether ``document`` may accept findings: a look for a word, for files that do not."""
    listed = isinstance(document.data, dict) and bool(document.data.get("suppress"))
    return listed or DIRECTIVE in document.text


def removal_of(mark: Mark) -> Fix | None:
    """Take a suppression out that accepts nothing; None for a comment that speaks of other rules too."""
    if len(mark.rules) + len(mark.unknown) != 1:
        return None
    title = f"remove the suppression of {mark.rules[0]}"
    if mark.path:
        return Fix(title, mark.path, safe=True, kind="remove")
    return Fix(title, safe=True, kind="cut", span=mark.span, path=())
