"""From the fix of a finding to edits of the text."""

from __future__ import annotations

from typing import Any

from eaglecfg.record import replace
from eaglecfg.rules.model import Fix
from eaglecfg.schema.load import canonical_key, is_text, may_be_null
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document
from eaglecfg.source.edit import Edit, Editor
from eaglecfg.source.span import KeyPath


def edits_of(document: Document, fix: Fix, editor: Editor | None = None) -> tuple[Edit, ...]:
    """The edits that ``fix`` and what belongs to it come to.

    Raises EditRefused where one of them cannot be made.
    """
    editor = editor or Editor(document)
    return tuple(_edit(editor, as_written(document, each)) for each in (fix, *fix.also))


def as_written(document: Document, fix: Fix) -> Fix:
    """``fix`` as the text of ``document`` takes it.

    What a deployment takes out and ``defaults`` gives as well would come from there: null is written then.
    What is added where null stands, in whatever spelling of its key, takes its place.
    """
    if fix.kind not in ("remove", "add") or fix.path[:1] != ("deployments",) or len(fix.path) not in (3, 4):
        return fix
    inside = fix.path[2:]
    if fix.kind == "remove":
        inherited = stands_at(document.data, ("defaults",), inside)
        if inherited is None or inherited[1] is None or not may_be_null(inside):
            return fix
        return replace(fix, kind="set", text="null", at_alias=False)
    there = stands_at(document.data, fix.path[:2], inside)
    if there is not None and there[1] is None and len(there[0]) == len(fix.path):
        return replace(fix, kind="set", path=there[0])
    return fix


def stands_at(data: Any, at: KeyPath, inside: KeyPath) -> tuple[KeyPath, Any] | None:
    """The document path, below ``at``, of a path inside a deployment in any spelling, and what is there."""
    for part in at:
        data = data.get(part) if isinstance(data, dict) else None
    for depth, part in enumerate(inside):
        if not isinstance(data, dict):
            return None
        name = canonical_key(inside[:depth], str(part))
        key = next((each for each in data if canonical_key(inside[:depth], str(each)) == name), None)
        if key is None:
            return None
        at, data = (*at, key), data[key]
    return at, data


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
