"""The JSON Schema of the ``server`` block, from the facts about the engine's flags."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from eaglecfg.schema_files import read_schema

_KINDS = {
    "bool": "true or false",
    "int": "whole number",
    "float": "number",
    "str": "text",
    "list": "list",
    "json": "mapping",
}
_COMPUTED = "<computed>"
"""Stands for a default that the engine works out."""

_SHOWN = 12
"""Choices that a description names."""


def server_block(elsewhere: Collection[str]) -> dict[str, Any]:
    """Schema of the block: a property for each flag of the newest version that was read, but those that have
    a place of their own in the file (``elsewhere``).

    It describes and suggests. What a version takes is for the rules to say: flags come, go and change, and
    other spellings of a name are as good.
    """
    rows = read_schema("engines", "sglang", "flags.json")["flags"]
    oldest = read_schema("engines", "sglang", "versions.json")["versions"][0]
    return {
        "type": "object",
        "properties": {
            name: _flag(versions, oldest)
            for name, versions in sorted(rows.items())
            if "until" not in versions[-1] and name not in elsewhere
        },
        "additionalProperties": True,
    }


def _flag(versions: Sequence[Mapping[str, Any]], oldest: str) -> dict[str, Any]:
    row = versions[-1]
    parts = [_KINDS.get(row["type"], "text")]
    choices = [choice for choice in row.get("choices", ()) if choice is not None]
    if choices:
        more = f" and {len(choices) - _SHOWN} more" if len(choices) > _SHOWN else ""
        parts = [f"one of {', '.join(map(str, choices[:_SHOWN]))}{more}"]
    if versions[0]["since"] != oldest:
        parts.append(f"sglang {versions[0]['since']} and later")
    if row.get("deprecated"):
        parts.append(f"deprecated, {row['deprecated']} takes its place")
    words = "; ".join(parts)
    described: dict[str, Any] = {"description": f"{words[0].upper()}{words[1:]}."}
    if row.get("default") not in (None, _COMPUTED):
        described["default"] = row["default"]
    if choices:
        described["examples"] = choices
    elif row["type"] == "bool":
        described["examples"] = [row.get("default") is not True]
    return described
