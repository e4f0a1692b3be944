"""What a fix has to come to: the data of the file with exactly that change. Checked before text is kept."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import Any

from eaglecfg.rules.fixes import as_written, kept_blocks
from eaglecfg.rules.model import Fix
from eaglecfg.rules.sharing import Reach
from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath


def comes_to(before: Document, after: Document, fixes: Sequence[Fix]) -> bool:
    """Whether ``after`` holds what ``before`` held with ``fixes`` made, and nothing else.

    What belongs to a fix (``also``) is not looked at.
    """
    wanted = deepcopy(before.data)
    written: dict[KeyPath, str] = {}
    done: set[tuple[str, KeyPath]] = set()
    reach = Reach(before)
    # Items of one list from its end, so that the others stay where they were found.
    made = [as_written(before, fix) for fix in fixes]
    for fix in sorted(made, key=lambda fix: _place_in_lists(fix), reverse=True):
        for path in reach.of(fix) if fix.kind != "cut" else ():
            if (fix.kind, path) in done:
                continue  # a setting that two deployments share, and both want changed
            done.add((fix.kind, path))
            try:
                _change(wanted, path, fix)
            except (AttributeError, KeyError, IndexError, TypeError):
                return False
            if fix.kind in ("set", "add"):
                written[path] = fix.text
    if after.data is None or len(after.problems) > len(before.problems):
        return False
    if not all(_says(after, path, text) for path, text in written.items()):
        return False
    return _without(wanted, written) == _without(after.data, written)


def _place_in_lists(fix: Fix) -> tuple[bool, tuple[int, ...]]:
    """What is taken out of lists comes last, by its indices."""
    taken = fix.kind == "remove"
    return not taken, tuple(part for part in fix.path if isinstance(part, int)) if taken else ()


def _change(data: Any, path: KeyPath, fix: Fix) -> None:
    """Make one change of plain data in place. What a value comes to is looked at apart."""
    *parents, last = path
    if fix.kind == "add":
        for part in parents:
            if data.get(part) is None:
                data[part] = {}
            data = data[part]
        data[last] = None
        return
    holders = [data]
    for part in parents:
        holders.append(holders[-1][part])
    if fix.kind == "set":
        holders[-1][last]
    elif fix.kind == "rename":
        if fix.text in holders[-1]:
            raise KeyError(fix.text)
        holders[-1][fix.text] = holders[-1].pop(last)
    else:
        _take_out(holders, path)


def _take_out(holders: list[Any], path: KeyPath) -> None:
    """Take ``path`` out, and what it was alone in, as the editor does."""
    for depth in range(len(path) - 1, -1, -1):
        holder = holders[depth]
        if len(holder) > 1:
            del holder[path[depth]]
            return
        if depth <= kept_blocks(path) and not isinstance(path[depth], int):
            raise KeyError(path)


def _says(document: Document, path: KeyPath, text: str) -> bool:
    """Whether the value at ``path`` is what ``text`` means, as a value or in its spelling."""
    place = document.places.get(path)
    if place is None:
        return False
    alone = parse_document(f"x: {text}", "", "")
    meant = alone.places.get(("x",))
    if meant is not None and meant.text is not None:
        return place.text in (meant.text, text)
    return place.text == text or _dumped(_at(document.data, path)) == _dumped(alone.data["x"])


def value_at(document: Document, path: KeyPath) -> Any:
    """The value at a path that stands in ``document``."""
    return _at(document.data, path)


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _without(data: Any, paths: Collection[KeyPath]) -> str:
    """``data`` as text, with the values at ``paths`` left out of the comparison."""
    data = deepcopy(data)
    for path in paths:
        try:
            _at(data, path[:-1])[path[-1]] = None
        except (KeyError, IndexError, TypeError):
            return f"without {path}"
    return _dumped(data)


def _dumped(data: Any) -> str:
    return json.dumps(data, sort_keys=True, default=str)
