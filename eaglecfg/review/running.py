"""What runs for a file: arguments as the engine settles them, variables as NCCL reads them, the wiring.

A safe fix leaves all of it as it is, save what it takes out and says to have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eaglecfg.engines.resolve import Resolution
from eaglecfg.record import record
from eaglecfg.review.difference.as_read import environment_read, given_at, taken_out
from eaglecfg.review.difference.effect import MODEL_FLAGS, Group, effect_of, plain
from eaglecfg.review.difference.settled import outcome
from eaglecfg.review.difference.study import study_facts
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.model import Fix
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
        return Running({("", "study", name): fact.key
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
        for path, key in given_at(context):
            given.setdefault(path, set()).add((each.name, *key))
    return Running(values, resolutions, {path: frozenset(names) for path, names in given.items()})


def runs_otherwise(before: Running, after: Running, fixes: Sequence[Fix]) -> str:
    """The first value that ``fixes`` change, in words; empty where all that runs stays.

    What a fix removes may be gone: that it had no effect is the fix's own claim.
    """
    removed = {name for path in taken_out(fixes) for name in before.given.get(path, ())}
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
    for name, read in environment_read(context).items():
        yield ("environment", name), read


def _words(name: Name, value: Any) -> str:
    if value is None:
        return "not set"
    if is_secret_name(name[2]):
        return "one value"
    shown = value[0] if isinstance(value, tuple) else value
    return plain(shown)[:80]
