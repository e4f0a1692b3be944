"""A flag value of another kind than the flag takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.numerals import whole
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, Rule, Severity, Today

WANTED = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}

OBJECTS = frozenset({"json_model_override_args"})
"""Flags that are text to the argument parser and JSON to who reads it (srt/configs/model_config.py:612)."""


_TRUTH = {"true": "true", "yes": "true", "on": "true", "1": "true"} | {
    "false": "false",
    "no": "false",
    "off": "false",
    "0": "false",
}


def check(ctx: Context) -> Iterator[Item]:
    """Every value must be of the type that the flag's parser reads."""
    assert ctx.engine is not None
    assert ctx.arguments is not None
    flags = ctx.engine.flags
    for argument in ctx.arguments.values():
        name = flags.canonical(argument.name)
        fact = flags.get(name)
        if fact is None or fact.type not in WANTED:
            continue
        if name in OBJECTS and not _is_object(argument.value):
            yield Finding(
                f"{argument.name} takes a JSON object, but is {_spelled(argument.value)}",
                path=ctx.where(*argument.path),
                why="SGLang parses it while it reads the model's config, and stops",
                help="write a mapping, such as {rope_theta: 500000.0}, or its JSON text",
                values={argument.name: argument.value, "type": "json"},
            )
            continue
        if _reads(fact.type, argument.value):
            continue
        yield Finding(
            f"{argument.name} takes {WANTED[fact.type]}, but is {_spelled(argument.value)}",
            path=ctx.where(*argument.path),
            why="SGLang's argument parser stops"
            if fact.type != "bool"
            else "the flag is a switch without a value; the command line would not be the one that is meant",
            help=f"write {WANTED[fact.type]}",
            fix=_switch(ctx, argument, fact.type),
            values={argument.name: argument.value, "type": fact.type},
        )


def _switch(ctx: Context, argument: Argument, kind: str) -> Fix | None:
    """The value of a switch that was written as a word or a number."""
    word = str(argument.value).strip().lower()
    if kind != "bool" or word not in _TRUTH:
        return None
    return Fix(f"set {argument.name} to {_TRUTH[word]}", ctx.where(*argument.path), _TRUTH[word])


def _reads(kind: str, value: Any) -> bool:
    if kind == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == "str":
        return isinstance(value, str | int | float | dict)  # objects are handed over as JSON
    if kind == "int":
        return whole(value) is not None  # some whole-number flags take a suffix (128k)
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
    return isinstance(value, str | int | float)


def _is_object(value: Any) -> bool:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return False
    return isinstance(value, dict)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return repr(value)


RULE = Rule(
    id="EC303",
    slug="flag-type",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
)
