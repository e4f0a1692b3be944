"""What stands under a key of the space must be choices or a range that the key can take."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import shown
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import (
    SECTIONS,
    UNSET,
    WHOLE_BLOCKS,
    entries,
    is_range,
    split_key,
    study_model,
)
from eaglecfg.rules.study.ranges import MOST_CHOICES, RANGE_KEYS, count_of, is_number
from eaglecfg.schema.accept import accept
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.wording import sentence_of
from eaglecfg.source.span import KeyPath

_WHY = "every choice costs launches, and one that cannot be launched or repeats another is wasted"


def check(context: Context) -> Iterator[Item]:
    """Look at every choice and every bound."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    if not study.space:
        yield Finding(
            "space is empty, but at least one key to search is expected",
            path=("space",),
            why="there is nothing to choose between",
            help="write a key with its choices, such as speculative.num_steps: [1, 2, 3]",
        )
    for key, value in study.space.items():
        section, name = split_key(key)
        if section not in SECTIONS or not (name or section in WHOLE_BLOCKS):
            continue  # a rule of its own says so
        yield from _choices(key, section, name, value, study.space)


def _choices(key: str, section: str, name: str, value: Any, searched: Collection[str]) -> Iterator[Finding]:
    path: KeyPath = ("space", key)
    if value == []:
        yield Finding(
            f"space.{key} has no choices", path, why=_WHY, help="write at least one, or remove the key"
        )
    if isinstance(value, list) and len(value) > MOST_CHOICES:
        yield _too_many(f"space.{key}", path, f"{len(value):,} choices")
        return
    seen: set[str] = set()
    for at, item in entries(key, value):
        spelled = json.dumps(item, sort_keys=True, default=str)
        if spelled in seen:
            fix = Fix(f"remove the second {shown(item)}", at, kind="remove")
            message = f"space.{key} has the choice {shown(item)} twice"
            yield Finding(message, at, why=_WHY, help="remove one", fix=fix)
            continue
        seen.add(spelled)
        if is_range(item):
            yield from range_faults(f"space.{key}", at, item)
        elif isinstance(item, dict) and not name:
            yield from _inside(key, section, at, item, searched)
        else:
            yield from _refused(f"space.{key}", section, name, at, item)


def _inside(
    key: str, section: str, at: KeyPath, block: dict[str, Any], searched: Collection[str]
) -> Iterator[Finding]:
    """The fields of a block that is one choice, each with its own choices."""
    names: dict[tuple[str, str], str] = {}
    for name, value in block.items():
        label = f"space.{key}.{name}"
        first = names.setdefault(split_key(f"{key}.{name}"), name)
        if first != name:
            message = f"{label} is {first} in another spelling, in one entry"
            yield Finding(
                message, (*at, name), True, why="one would hide the other", help="keep one of the two"
            )
        if value == []:
            yield Finding(f"{label} has no choices", (*at, name), why=_WHY, help="write at least one")
        elif is_range(value):
            yield from range_faults(label, (*at, name), value)
        elif _searched(key, name, searched) and (isinstance(value, list) or section == "nccl"):
            message = (
                f"space searches {section}.{name} twice: inside a choice of {key} and as a key of its own"
            )
            yield Finding(message, (*at, name), why=_WHY, help="keep one of the two")
        elif isinstance(value, list) and len(value) > MOST_CHOICES:
            yield _too_many(label, (*at, name), f"{len(value):,} choices")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from _refused(label, section, name, (*at, name, index), item)
        else:
            yield from _refused(label, section, name, (*at, name), value)


def _searched(key: str, name: str, searched: Collection[str]) -> bool:
    """Whether a field of a block is a key of the space as well, in whatever spelling."""
    return split_key(f"{key}.{name}") in {split_key(other) for other in searched if other != key}


def _refused(label: str, section: str, name: str, at: KeyPath, item: Any) -> Iterator[Finding]:
    """A choice of a type that the key does not take in a deployment."""
    if item is None or item == UNSET:
        return
    block = item if not name else {name: item}
    data: dict[str, Any] = {"target": {"checkpoint": "x"}}
    data[section] = {**data.get(section, {}), **block} if isinstance(block, dict) else block
    for refusal in accept(Deployment, data).refusals:
        if refusal.reason not in ("extra_forbidden", "missing"):
            sentence = sentence_of(refusal, "the deployment")
            yield Finding(
                f"{label} has a choice that the key does not take: {sentence}",
                at,
                why=_WHY,
                help="write a choice of the right type, or remove it",
            )


def range_faults(label: str, at: KeyPath, given: dict[str, Any]) -> Iterator[Finding]:
    """What is wrong with ``{low, high, step, log}``."""

    def fault(message: str, help: str, key: str = "") -> Finding:
        return Finding(f"{label} {message}", (*at, key) if key in given else at, why=_WHY, help=help)

    for key in given:
        if key not in RANGE_KEYS:
            yield fault(f'has the key "{key}" in its range', "a range has low, high, step and log", key)
    low: Any = given.get("low")
    high: Any = given.get("high")
    step: Any = given.get("step")
    log: Any = given.get("log")
    for key, bound in (("low", low), ("high", high)):
        if key not in given:
            yield fault(f"has a range without {key}", f"write {key}: and a number")
        elif not is_number(bound):
            yield fault(f"takes a number for {key}, not {shown(bound)}", "write a number", key)
    if log is not None and not isinstance(log, bool):
        yield fault(f"takes true or false for log, not {shown(log)}", "write log: true", "log")
    if step is not None and not is_number(step):
        yield fault(f"takes a number for step, not {shown(step)}", "write a number", "step")
    if not (is_number(low) and is_number(high)):
        return
    if low > high:
        yield fault(f"has a range from {low} down to {high}", f"write low: {high}, high: {low}", "low")
    elif log is True and low <= 0:
        yield fault(f"has a logarithmic range from {low}, but it must begin above 0", "write low: 1", "low")
    least = 1 if log is True else 0
    if is_number(step) and step <= least:
        yield fault(f"takes a step above {least}, not {step}", "write a larger step, or none", "step")
        return
    countable = low <= high and (low > 0 or log is not True) and (step is None or is_number(step))
    if countable and count_of(low, high, step, log=log is True) > MOST_CHOICES:
        yield _too_many(label, at, f"a range of more than {MOST_CHOICES:,} values")


def _too_many(label: str, at: KeyPath, what: str) -> Finding:
    message = f"{label} has {what}, which no study can tell apart"
    return Finding(message, at, why=_WHY, help="give a larger step, or fewer choices")


RULE = Rule(
    id="EC704",
    slug="space-choices",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
