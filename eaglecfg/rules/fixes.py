"""From the fix of a finding to edits of the text."""

from __future__ import annotations

from eaglecfg.rules.model import Fix
from eaglecfg.schema.load import is_text
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document
from eaglecfg.source.edit import Edit, Editor
from eaglecfg.source.span import KeyPath


def edits_of(document: Document, fix: Fix, editor: Editor | None = None) -> tuple[Edit, ...]:
    """The edits that ``fix`` and what belongs to it come to.

    Raises EditRefused where one of them cannot be made.
    """
    editor = editor or Editor(document)
    return tuple(_edit(editor, each) for each in (fix, *fix.also))


def _edit(editor: Editor, fix: Fix) -> Edit:
    match fix.kind:
        case "set":
            as_text = _means_text(editor.document, fix)
            return editor.set(fix.path, fix.text, as_text=as_text, at_alias=fix.at_alias)
        case "rename":
            return editor.rename(fix.path, fix.text)
        case "remove":
            return editor.remove(fix.path, kept_blocks(fix.path))
        case "add":
            return editor.add(fix.path, fix.text)
        case "cut":
            assert fix.span is not None
            return editor.cut(fix.span)


def kept_blocks(path: KeyPath) -> int:
    """How deep the blocks lie that stay, though empty, when ``path`` goes: no deployment ends with its last
    key."""
    return 2 if path[:1] == ("deployments",) else 0


def _means_text(document: Document, fix: Fix) -> bool:
    """Whether the value means its spelling, so that ``4`` may stay in the quotes that it has."""
    if kind_of(document) == "study":
        from eaglecfg.schema.load_study import is_text as is_text_of_study

        return is_text_of_study(fix.path)
    return is_text(fix.path)
