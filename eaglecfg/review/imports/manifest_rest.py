"""What stands around a container in a manifest and has no place in a config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eaglecfg.review.imports.text import Note, guarded
from eaglecfg.review.imports.yaml_source import Part
from eaglecfg.source.span import KeyPath, show_path

_OF_NO_INTEREST = frozenset(("apiVersion", "kind", "metadata", "selector", "status", "revisionHistoryLimit"))
_CONTAINERS = "containers"


def left_out_around(part: Part, container: KeyPath) -> Iterator[Note]:
    """One note for each key of the objects and templates around the container at ``container``."""
    begin = 0
    for depth, step in enumerate(container[:-1]):
        held = part.value(container[:depth])
        if not isinstance(held, dict):
            continue
        if isinstance(held.get("kind"), str):
            begin = depth
        for key, value in held.items():
            at = (*container[:depth], key)
            if key != step and key not in _OF_NO_INTEREST and not _is_said(part, at, value):
                shown = part.text(at)
                text = f"{show_path(at[begin:])}{': ' if shown else ''}{guarded(shown)}"
                yield Note(f"left out: {text}", part.at(at))


def _is_said(part: Part, at: KeyPath, value: Any) -> bool:
    """Whether the key says nothing, or is read: one pod, the size of a group, a template of its own."""
    if at[-1] == "replicas":
        return part.text(at) == "1"
    return at[-2:] == ("leaderWorkerTemplate", "size") or _holds_containers(value)


def _holds_containers(value: Any) -> bool:
    stack = [value]
    while stack:
        held = stack.pop()
        if isinstance(held, dict):
            if isinstance(held.get(_CONTAINERS), list):
                return True
            stack += held.values()
        elif isinstance(held, list):
            stack += held
    return False
