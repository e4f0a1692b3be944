"""Whether a value that differs makes a difference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from eaglecfg.engines.command import environment
from eaglecfg.review.difference.as_read import environment_read, names_of
from eaglecfg.review.difference.contents import CONTENT
from eaglecfg.review.difference.effect import MODEL_FLAGS, Effect, Group
from eaglecfg.review.difference.settled import outcome
from eaglecfg.rules.context import Context

_SIZE = "hardware.gpu_memory"


class Pair:
    """One deployment in two states. What is read of the environment in each is worked out once, and only
    where a variable differs."""

    def __init__(self, old: Effect, new: Effect) -> None:
        self._old, self._new = old, new

    def alike_in_effect(self, group: Group, name: str) -> bool:
        """Whether the same runs with a setting or a variable of both, however each is spelled; False of all
        else, but for a declared size in another unit."""
        if CONTENT in name or name in MODEL_FLAGS:
            return False
        if group == "setting":
            return self._idle(group, name) or self._settled_alike(name)
        if group == "environment":
            return self._idle(group, name) or self._read_alike(name)
        return (group, name) == ("declared", _SIZE) and self._sizes_alike()

    @cached_property
    def _read(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return environment_read(self._old.context), environment_read(self._new.context)

    def _settled_alike(self, flag: str) -> bool:
        one, two = self._old.context.resolution, self._new.context.resolution
        return one is not None and two is not None and outcome(one, flag) == outcome(two, flag)

    def _read_alike(self, name: str) -> bool:
        one, two = self._read
        names = names_of(self._old.context, name) | names_of(self._new.context, name)
        return all(one.get(each) == two.get(each) for each in names)

    def _idle(self, group: Group, name: str) -> bool:
        """Whether what is given has no effect, in each state in which it is given."""
        key, states = (group, name), (self._old, self._new)
        if not any(key in each.inert for each in states):
            return False
        return all(key in each.inert or not _given(group, name, each.context) for each in states)

    def _sizes_alike(self) -> bool:
        from eaglecfg.rules.parallel.memory import bytes_of

        sizes = []
        for each in (self._old, self._new):
            fact = each.facts.get(("declared", _SIZE))
            sizes.append(bytes_of(str(fact.key)) if fact is not None else None)
        return sizes[0] is not None and sizes[0] == sizes[1]


def _given(group: Group, name: str, context: Context) -> bool:
    if group == "environment":
        return name in environment(context.model)
    if context.resolution is None:
        return name in (context.arguments or {})
    return context.resolution.asked(name) is not None
