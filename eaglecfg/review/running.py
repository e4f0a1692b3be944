"""What runs for a file: arguments as the engine settles them, variables as NCCL reads them, the wiring.

A safe fix leaves all of it as it is, save what it takes out and says to have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eaglecfg.engines.command import environment, environment_name
from eaglecfg.engines.resolve import Resolution
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.record import record
from eaglecfg.review.difference.effect import MODEL_FLAGS, Group, effect_of, plain
from eaglecfg.review.difference.settled import outcome
from eaglecfg.review.difference.study import study_facts
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.model import Fix
from eaglecfg.rules.nccl.settings import Settings, look
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document
from eaglecfg.source.secrets import is_secret_name
from eaglecfg.source.span import KeyPath

Name = tuple[str, Group, str]
"""A deployment (empty for a study), a group of its effect, and the name of a value in it."""

_COMPARED: tuple[Group, ...] = ("engine", "capture", "draft", "checkpoint", "memory", "messages")
_NOT_SERVED = ("trained boundaries",)
"""What the file declares, and no engine reads."""


@record
class Running:
    """``values`` of everything that runs but settings, which ``resolutions`` know by deployment. ``given``:
    document paths of settings and variables, with the names that they have here."""

    values: Mapping[Name, Any]
    resolutions: Mapping[str, Resolution]
    given: Mapping[KeyPath, frozenset[Name]]


def running(document: Document, checkpoints: Checkpoints) -> Running:
    """What runs for ``document``, a config or a study file. Raises nothing for files that are no such."""
    if kind_of(document) == "study":
        return Running({("", "study", name): _study_value(name, fact.key)
                        for (_, name), fact in study_facts(document).items()}, {}, {})  # fmt: skip
    config = load_config(document)
    values: dict[Name, Any] = {}
    given: dict[KeyPath, set[Name]] = {}
    resolutions: dict[str, Resolution] = {}
    for each in config.deployments:
        context = deployment_context(config, each, checkpoints)
        if context.resolution is not None:
            resolutions[each.name] = context.resolution
        values |= {(each.name, *key): value for key, value in _values(context)}
        for path, key in _given(context):
            given.setdefault(path, set()).add((each.name, *key))
    return Running(values, resolutions, {path: frozenset(names) for path, names in given.items()})


def runs_otherwise(before: Running, after: Running, fixes: Sequence[Fix]) -> str:
    """The first value that ``fixes`` change, in words; empty where all that runs stays.

    What a fix removes may be gone: that it had no effect is the fix's own claim.
    """
    removed = {
        name
        for fix in fixes
        if fix.kind == "remove" and not fix.also
        for name in before.given.get(fix.path, ())
    }
    for name, was, now in _differences(before, after):
        if name not in removed:
            return f"{name[2]} {_words(name, was)}, then {_words(name, now)}"
    return ""


def _differences(before: Running, after: Running) -> Iterator[tuple[Name, Any, Any]]:
    for name in dict.fromkeys([*before.values, *after.values]):
        was, now = before.values.get(name), after.values.get(name)
        if was != now:
            yield name, was, now
    for deployment in dict.fromkeys([*before.resolutions, *after.resolutions]):
        one, two = before.resolutions.get(deployment), after.resolutions.get(deployment)
        for flag in dict.fromkeys([*(one.settings if one else ()), *(two.settings if two else ())]):
            was = outcome(one, flag) if one is not None else None
            now = outcome(two, flag) if two is not None else None
            if flag not in MODEL_FLAGS and was != now:
                yield (deployment, "setting", flag), was, now


def _values(context: Context) -> Iterator[tuple[tuple[Group, str], Any]]:
    for (group, name), fact in effect_of(context).facts.items():
        if group in _COMPARED and name not in _NOT_SERVED:
            yield (group, name), fact.key
    if context.resolution is None:
        for name, argument in (context.arguments or {}).items():
            yield ("setting", name), argument.value
    view = look(context)
    for name, text in environment(context.model).items():
        if name not in view:
            yield ("environment", name), text
    for name in dict.fromkeys([*view.given, *view.written()]):
        value = _as_read(view, name)
        if value is not None:
            yield ("environment", _asked_for(view, name)), value


def _as_read(view: Settings, name: str) -> Any:
    """What is read of a variable; None where nothing is set, or where NCCL does not know it."""
    from eaglecfg.nccl.facts import variable_fact
    from eaglecfg.nccl.parse import parse

    text, fact = view.sees(name).text, variable_fact(name)
    if text is None or fact is None or view.handed(name):
        return text
    try:
        if view.standing(fact) not in ("there", "open"):
            return None
    except ValueFromLaunch:  # the version that reads it is not known
        return text
    parsed = parse(name, text, view.version)
    faults = tuple(each.code for each in parsed.problems if each.code not in _SPELLED)
    return (parsed.taken, faults) if parsed.taken is not None or faults else None


_SPELLED = frozenset(("spelling", "misread", "octal", "number", "case", "unusual"))
"""Faults of a text that say nothing beside the value that is taken from it."""


def _asked_for(view: Settings, name: str) -> str:
    """The name that a variable is read as: torch's old names are its new ones."""
    from eaglecfg.nccl.facts import related

    table = related()
    new = table["torch_old"].get(name)
    return str(new) if name in table["torch_reads_old"] and new not in view else name


def _given(context: Context) -> Iterator[tuple[KeyPath, tuple[Group, str]]]:
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


def _study_value(name: str, value: Any) -> Any:
    # Each baseline is launched as one, however often it is named.
    return sorted(set(map(str, value))) if name == "baselines" else value


def _words(name: Name, value: Any) -> str:
    if value is None:
        return "not set"
    if is_secret_name(name[2]):
        return "one value"
    shown = value[0] if isinstance(value, tuple) else value
    return plain(shown)[:80]
