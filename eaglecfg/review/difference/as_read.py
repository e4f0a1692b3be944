"""What is read of the environment, and what of a file has no effect: for whoever asks whether two states
run the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eaglecfg.engines.command import environment, environment_name
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.review.difference.effect import Group
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Fix
from eaglecfg.rules.nccl.settings import Settings, look
from eaglecfg.source.span import KeyPath

Key = tuple[Group, str]

_SPELLED = frozenset(("spelling", "misread", "octal", "number", "case", "unusual"))
"""Faults of a text that say nothing beside the value that is taken from it."""


def environment_read(context: Context) -> Mapping[str, Any]:
    """What is read of each variable that the file or the engine sets, by the name that it is read as."""
    view, found = look(context), {}
    for name, text in environment(context.model).items():
        if name not in view:
            found[name] = text
    for name in dict.fromkeys([*view.given, *view.written()]):
        value = _read(view, name)
        if value is not None:
            found[_asked_for(view, name)] = value
    return found


def names_of(context: Context, name: str) -> frozenset[str]:
    """The names that the variable ``name`` may be read as."""
    return frozenset((name, _asked_for(look(context), name)))


def given_at(context: Context) -> Iterator[tuple[KeyPath, Key]]:
    """Document paths of settings and variables, with their names."""
    assert context.whole is not None
    for argument in (context.arguments or {}).values():
        path = context.whole.origin.get(argument.path)
        if path is not None:
            yield path, ("setting", argument.name)
    for block, names in (("env", context.model.env), ("nccl", context.model.nccl)):
        for key in names:
            path = context.whole.origin.get((block, key))
            if path is not None:
                yield path, ("environment", key if block == "env" else environment_name(key))


def taken_out(fixes: Iterable[Fix]) -> frozenset[KeyPath]:
    """Paths of what ``fixes`` remove and nothing else: that it has no effect is the claim of a safe one."""
    return frozenset(fix.path for fix in fixes if fix.kind == "remove" and not fix.also)


def inert(context: Context, fixes: Iterable[Fix]) -> frozenset[Key]:
    """Settings and variables without effect, as safe ones of ``fixes`` say."""
    paths = taken_out(fix for fix in fixes if fix.safe)
    return frozenset(key for path, key in given_at(context) if path in paths) if paths else frozenset()


def _read(view: Settings, name: str) -> Any:
    """What is read of a variable; None where nothing is set, or where NCCL does not know it."""
    from eaglecfg.nccl.facts import variable_fact
    from eaglecfg.nccl.lists import Allowed
    from eaglecfg.nccl.parse import parse

    seen, fact = view.sees(name), variable_fact(name)
    text = seen.text
    if view.handed(name) and not seen.by_engine:
        return view.given[name].text  # which may name another variable than itself
    if text is None or fact is None or view.handed(name):
        return text
    try:
        if view.standing(fact) not in ("there", "open"):
            return None
    except ValueFromLaunch:  # the version that reads it is not known
        return text
    parsed = parse(name, text, view.version)
    faults = tuple(each.code for each in parsed.problems if each.code not in _SPELLED)
    taken = parsed.taken
    if isinstance(taken, Allowed):
        # Its entries as spelled are left out where all of them are elements and none is negated.
        if taken.troubles or taken.negated:
            return taken, faults
        return {name: sorted(each) for name, each in taken.by_collective.items()}, taken.general, faults
    return (taken, faults) if taken is not None or faults else None


def _asked_for(view: Settings, name: str) -> str:
    """The name that a variable is read as: torch's old names are its new ones."""
    from eaglecfg.nccl.facts import related

    table = related()
    new = table["torch_old"].get(name)
    return str(new) if name in table["torch_reads_old"] and new not in view else name
