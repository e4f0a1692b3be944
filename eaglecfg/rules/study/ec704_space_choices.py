"""What stands under a key of the space must be choices or a range that the key can take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import shown
from eaglecfg.rules.model import Finding, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import (
    RANGE_KEYS,
    SECTIONS,
    UNSET,
    WHOLE_BLOCKS,
    entries,
    is_range,
    split_key,
    study_model,
)
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
        yield from _choices(key, section, name, value)


def _choices(key: str, section: str, name: str, value: Any) -> Iterator[Finding]:
    path: KeyPath = ("space", key)
    if value == []:
        yield Finding(
            f"space.{key} has no choices", path, why=_WHY, help="write at least one, or remove the key"
        )
    seen: list[Any] = []
    for at, item in entries(key, value):
        if any(type(item) is type(other) and item == other for other in seen):
            yield Finding(f"space.{key} has the choice {shown(item)} twice", at, why=_WHY, help="remove one")
            continue
        seen.append(item)
        if is_range(item):
            yield from range_faults(f"space.{key}", at, item)
        elif isinstance(item, dict) and not name:
            yield from _inside(key, section, at, item)
        else:
            yield from _refused(f"space.{key}", section, name, at, item)


def _inside(key: str, section: str, at: KeyPath, block: dict[str, Any]) -> Iterator[Finding]:
    """The fields of a block that is one choice, each with its own choices."""
    for name, value in block.items():
        label = f"space.{key}.{name}"
        if value == []:
            yield Finding(f"{label} has no choices", (*at, name), why=_WHY, help="write at least one")
        elif is_range(value):
            yield from range_faults(label, (*at, name), value)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from _refused(label, section, name, (*at, name, index), item)
        else:
            yield from _refused(label, section, name, (*at, name), value)


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
        elif not _number(bound):
            yield fault(f"takes a number for {key}, not {shown(bound)}", "write a number", key)
    if log is not None and not isinstance(log, bool):
        yield fault(f"takes true or false for log, not {shown(log)}", "write log: true", "log")
    if step is not None and not _number(step):
        yield fault(f"takes a number for step, not {shown(step)}", "write a number", "step")
    if not (_number(low) and _number(high)):
        return
    if low > high:
        yield fault(f"has a range from {low} down to {high}", f"write low: {high}, high: {low}", "low")
    elif log is True and low <= 0:
        yield fault(f"has a logarithmic range from {low}, but it must begin above 0", "write low: 1", "low")
    least = 1 if log is True else 0
    if _number(step) and step <= least:
        yield fault(f"takes a step above {least}, not {step}", "write a larger step, or none", "step")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


RULE = Rule(
    id="EC704",
    slug="space-choices",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
