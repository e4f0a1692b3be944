"""What the rules about suppressions share: for files without one, no more than the look for a word."""

from __future__ import annotations

from eaglecfg.source.document import Document

DIRECTIVE = "eaglecfg:"


def holds_suppressions(document: Document) -> bool:
    """Whether ``document`` may accept findings: a look for a word, for files that do not."""
    listed = isinstance(document.data, dict) and bool(document.data.get("suppress"))
    return listed or DIRECTIVE in document.text
