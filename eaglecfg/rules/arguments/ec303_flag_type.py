"""A flag value of another kind than the flag takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.flags import FlagFact
from eaglecfg.engines.numerals import whole
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, Rule, Severity, Today

WANTED = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}

LISTED = {"int": "whole numbers", "float": "numbers", "str": "words"}

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
        if fact is not None and fact.items:
            yield from _list(ctx, argument, fact)
            continue
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


def _list(ctx: Context, argument: Argument, fact: FlagFact) -> Iterator[Finding]:
    """A flag that takes any number of words: each item is one, and text is one whatever it holds."""
    kind, most, value = fact.items[:-1], fact.items[-1], argument.value
    words = value if isinstance(value, list) else [value]
    empty = value is True or not words
    wrong = [word for word in words if not _is_word(kind, word)] if value is not False and not empty else []
    if not wrong and not (empty and most == "+"):
        return
    apart = _apart(kind, value)
    got = "an empty list" if value == [] else _spelled(wrong[0] if len(words) > 1 and wrong else value)
    yield Finding(
        f"{argument.name} takes a list of {LISTED[kind]}, but {'holds' if len(words) > 1 else 'is'} {got}",
        path=ctx.where(*argument.path),
        why="on the command line it stands without a value; SGLang's argument parser stops"
        if empty
        else "text is one word on the command line, whatever it holds; SGLang's argument parser stops",
        help=f"write {apart or f'a list of {LISTED[kind]}'}, or leave out {argument.name}",
        fix=Fix(f"set {argument.name} to {apart}", ctx.where(*argument.path), apart) if apart else None,
        values={argument.name: value, "type": "list"},
    )


def _is_word(kind: str, value: Any) -> bool:
    """Whether the parser of a list takes ``value`` for one of its words, which has no suffixes."""
    if kind == "str":
        return not isinstance(value, bool)
    if isinstance(value, bool | list | dict) or value is None:
        return False
    try:
        (int if kind == "int" else float)(str(value))
    except ValueError:
        return False
    return True


def _apart(kind: str, value: Any) -> str:
    """The list that text such as ``1 2 4`` or ``1,2,4`` was meant to be, as YAML; empty for anything else."""
    words = re.split(r"[\s,]+", value.strip(" ,[]\t")) if isinstance(value, str) else []
    return (
        f"[{', '.join(words)}]"
        if kind != "str" and all(_is_word(kind, word) for word in words) and words
        else ""
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
