"""Validation that goes on after a refusal: what is refused is taken out, and the rest is validated again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Any, Generic

from pydantic_core import ValidationError

from eaglecfg.record import record
from eaglecfg.schema.base import Model
from eaglecfg.source.span import KeyPath


@record
class Refusal:
    """One refused key or value. ``reason`` is pydantic's error type, ``context`` what came with it."""

    path: KeyPath
    reason: str
    value: Any
    context: dict[str, Any]


@record
class Accepted(Generic[Model]):
    """What a model makes of some data. ``removed`` are the paths taken out before it could."""

    model: Model | None
    refusals: list[Refusal] = field(default_factory=list)
    removed: set[KeyPath] = field(default_factory=set)


def accept(model: type[Model], data: Any, removed: Collection[KeyPath] = ()) -> Accepted[Model]:
    """Validate ``data``, taking out of it what is refused until the rest passes or nothing is left.

    ``removed`` are paths that were taken out of ``data`` before, whose absence is no news.
    """
    out: Accepted[Model] = Accepted(None, removed=set(removed))
    while True:
        try:
            return Accepted(model.model_validate(data), out.refusals, out.removed)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        doomed: set[KeyPath] = set()
        for each in errors:
            path = _path(each["loc"], data, each["type"])
            # A key that is missing only because it was refused has been reported already.
            if not (each["type"] == "missing" and path in out.removed):
                out.refusals.append(Refusal(path, each["type"], each["input"], dict(each.get("ctx", {}))))
            doomed.add(path[:-1] if each["type"] == "missing" else path)
        if any(_removable(path) == () for path in doomed):
            return out
        out.removed.update(take_out(data, doomed))


def take_out(data: Any, paths: Collection[KeyPath]) -> set[KeyPath]:
    """Remove what stands at ``paths``, lists as a whole. Returns the paths that are gone."""
    gone = {_removable(path) for path in paths}
    for path in sorted(gone, key=len, reverse=True):
        _remove(data, path)
    return gone


def _path(loc: tuple[int | str, ...], data: Any, reason: str) -> KeyPath:
    """``loc`` without the labels that pydantic puts between the keys of the data."""
    path: KeyPath = ()
    for i, part in enumerate(loc):
        if _holds(data, part):
            path, data = (*path, part), data[part]
        elif reason == "missing" and i == len(loc) - 1:
            path = (*path, part)
    return path


def _holds(data: Any, part: int | str) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _removable(path: KeyPath) -> KeyPath:
    """The nearest part around ``path`` that can go as a whole: a list less one item would be another list."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    for i, part in enumerate(path):
        if isinstance(part, int):
            return path[:i]
    return path


def _remove(data: Any, path: KeyPath) -> None:
    for part in path[:-1]:
        if not isinstance(data, dict) or part not in data:
            return
        data = data[part]
    if isinstance(data, dict):
        data.pop(path[-1], None)
