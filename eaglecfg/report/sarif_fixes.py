"""The fix of a finding as SARIF replacements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eaglecfg.report.styled import visible
from eaglecfg.rules.fixes import edits_of
from eaglecfg.rules.outcome import Reported
from eaglecfg.rules.sharing import Sharing
from eaglecfg.source.edit import Editor, EditRefused, apply_edits


def fixes(
    found: Reported, artifact: dict[str, Any], sharing: Sharing, wanted: Sequence[Reported]
) -> list[dict[str, Any]]:
    """The fix of ``found`` as the value of ``fixes``.

    Empty where its edits cannot be made by span, or where somebody else reads the text through an anchor or
    ``defaults:`` and none of ``wanted``, the findings with a fix, asks for the change there.
    """
    fix = found.finding.fix
    if fix is None:
        return []
    editor = Editor(found.document)
    try:
        fix = sharing.settle(found, wanted)
        edits = edits_of(found.document, fix, editor)
        apply_edits(found.document.text, edits)  # replacements must not overlap
    except EditRefused:
        return []
    replacements = []
    for edit in edits:
        start, end = editor.position(edit.start), editor.position(edit.end)
        replacement: dict[str, Any] = {
            "deletedRegion": {
                "startLine": start.line,
                "startColumn": start.column,
                "endLine": end.line,
                "endColumn": end.column,
            }
        }
        if edit.text:
            replacement["insertedContent"] = {"text": edit.text}
        replacements.append(replacement)
    title = visible(fix.title) + ("" if fix.safe else " (may change what runs: read it first)")
    change = {"artifactLocation": artifact, "replacements": replacements}
    return [{"description": {"text": title}, "artifactChanges": [change]}]
