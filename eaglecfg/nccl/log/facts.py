"""The lines that NCCL writes, from ``schemas/nccl/log.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from eaglecfg.nccl.version import at_least
from eaglecfg.schema_files import read_schema


class Form(NamedTuple):
    """One kind of line. ``needle`` is text that every such line holds, cheap to look for."""

    name: str
    needle: str
    pattern: re.Pattern[str]


@cache
def log_facts() -> Mapping[str, Any]:
    """The whole table."""
    table: Mapping[str, Any] = read_schema("nccl", "log.json")
    return table


@cache
def forms() -> tuple[Form, ...]:
    """The kinds of lines, in the order in which they are tried."""
    return tuple(
        Form(row["name"], row["needle"], re.compile(row["pattern"], re.ASCII)) for row in log_facts()["lines"]
    )


@cache
def algorithms() -> Mapping[str, str]:
    """NCCL's spelling in the log (``RING``, ``1``, ``Ring``) -> the one that NCCL_ALGO takes."""
    names: Mapping[str, str] = log_facts()["algorithms"]
    return {**names, **{name: name for name in names.values()}}


@cache
def protocols() -> Mapping[str, str]:
    """The same of protocols: ``SIMPLE``, ``2``, ``Simple`` -> ``Simple``."""
    names: Mapping[str, str] = log_facts()["protocols"]
    return {**names, **{name: name for name in names.values()}}


def data_type(code: str) -> tuple[str, int] | None:
    """Name and bytes of ``ncclDataType_t`` number ``code``."""
    found = log_facts()["datatypes"].get(code)
    return (str(found[0]), int(found[1])) if found else None


def says_when_read(name: str, kind: str, version: str) -> bool:
    """Whether NCCL ``version`` writes a line when it reads the variable: then no line means that it did
    not."""
    facts = log_facts()
    if kind == "int" or name in facts["levels_said"]:
        return True
    said = facts["said"].get(name)
    return said is not None and at_least(version, said["since_seen"])
