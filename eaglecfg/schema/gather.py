"""A part of a document as plain data of its own, with the document path behind every value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from eaglecfg.record import record
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath

OPEN_VALUES = frozenset(
    ("ambiguous-number", "number-too-long", "control-character", "unknown-alias", "cycle")
)
"""Kinds of problems after which nobody knows the value that was meant."""

Rename = Callable[[KeyPath, str], str]


@record
class Gathered:
    """Data that may be changed, where each part of it stands, and keys that two spellings give twice."""

    data: Any
    origin: dict[KeyPath, KeyPath]
    twice: list[tuple[KeyPath, KeyPath]] = field(default_factory=list)
    """Pairs of document paths, the first spelling first."""


def gather(
    document: Document, at: KeyPath, is_text: Callable[[KeyPath], bool], rename: Rename | None = None
) -> Gathered:
    """Copy what stands at the document path ``at``.

    Scalars for which ``is_text`` holds take their spelling in the source. ``rename`` gives a key its
    canonical spelling, by the path of the mapping that holds it.
    """
    value = document.data
    for part in at:
        value = value[part]
    out = Gathered(None, {})
    return Gathered(_copy(document, value, at, (), is_text, rename, out), out.origin, out.twice)


def _copy(
    document: Document,
    value: Any,
    at: KeyPath,
    path: KeyPath,
    is_text: Callable[[KeyPath], bool],
    rename: Rename | None,
    out: Gathered,
) -> Any:
    out.origin[path] = at
    if isinstance(value, list):
        return [
            _copy(document, item, (*at, i), (*path, i), is_text, rename, out) for i, item in enumerate(value)
        ]
    if isinstance(value, dict):
        copied: dict[str, Any] = {}
        for key, item in value.items():
            name = rename(path, key) if rename is not None else key
            if name in copied:
                out.twice.append((out.origin[(*path, name)], (*at, key)))
                continue
            copied[name] = _copy(document, item, (*at, key), (*path, name), is_text, rename, out)
        return copied
    if value is not None and not isinstance(value, str) and is_text(path):
        return document.place(at).text
    return value


def doubtful(document: Document, given: Gathered, is_text: Callable[[KeyPath], bool]) -> set[KeyPath]:
    """Paths in ``given`` whose value the text leaves open (``010``, an alias without anchor)."""
    open_values = {problem.path for problem in document.problems if problem.kind in OPEN_VALUES}
    return {path for path, at in given.origin.items() if at in open_values and path and not is_text(path)}


def overlay(under: Gathered, over: Gathered) -> Gathered:
    """``over`` laid on ``under``: mappings are merged key by key, everything else is replaced as a whole."""
    origin: dict[KeyPath, KeyPath] = {}
    data = _lay(under.data, over.data, (), under.origin, over.origin, origin)
    return Gathered(data, origin, [*under.twice, *over.twice])


def _lay(
    under: Any,
    over: Any,
    path: KeyPath,
    under_origin: Mapping[KeyPath, KeyPath],
    over_origin: Mapping[KeyPath, KeyPath],
    origin: dict[KeyPath, KeyPath],
) -> Any:
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return _take(over, path, over_origin, origin)
    origin[path] = over_origin[path]
    out = {}
    for key in dict.fromkeys((*under, *over)):
        inner = (*path, key)
        if key not in over:
            out[key] = _take(under[key], inner, under_origin, origin)
        elif key not in under:
            out[key] = _take(over[key], inner, over_origin, origin)
        else:
            out[key] = _lay(under[key], over[key], inner, under_origin, over_origin, origin)
    return out


def _take(
    value: Any, path: KeyPath, source: Mapping[KeyPath, KeyPath], origin: dict[KeyPath, KeyPath]
) -> Any:
    """A copy: what one deployment loses to a refusal must stay in the others."""
    origin[path] = source[path]
    if isinstance(value, dict):
        return {key: _take(item, (*path, key), source, origin) for key, item in value.items()}
    if isinstance(value, list):
        return [_take(item, (*path, i), source, origin) for i, item in enumerate(value)]
    return value
