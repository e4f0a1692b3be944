"""The JSON Schema of the ``nccl`` block, from the facts about NCCL's variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.schema_files import read_schema

_NUMBER = r"^-?(0[xX][0-9a-fA-F]+|[1-9][0-9]*|0)$"
_LEVELS = ["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"]
_LISTS = {
    "algorithms": "Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT",
    "protocols": "LL, LL128, Simple",
}


def nccl_block(text_types: list[str]) -> dict[str, Any]:
    """Schema of the block: a property for each variable whose form is known, others as plain text.

    ``text_types`` are the JSON types of a value that is taken in its spelling.
    """
    rows = read_schema("nccl", "variables.json")["variables"]
    shown = {name: row for name, row in rows.items() if row["kind"] != "any" and "until" not in row}
    return {
        "type": "object",
        "properties": {
            name.removeprefix("NCCL_").lower(): _variable(row, text_types) for name, row in shown.items()
        },
        "additionalProperties": {"type": text_types},
    }


def _variable(row: Mapping[str, Any], text_types: list[str]) -> dict[str, Any]:
    return {"description": _description(row), **_values(row, text_types)}


def _values(row: Mapping[str, Any], text_types: list[str]) -> dict[str, Any]:
    kind = row["kind"]
    if kind == "int" and row.get("values"):
        return {"enum": [*row["values"], *map(str, row["values"])]}
    if kind == "int":
        low, high = row.get("range", (None, None))
        number: dict[str, Any] = {"type": "integer"}
        limits = {"minimum": low, "maximum": high, "multipleOf": row.get("multiple")}
        number |= {key: value for key, value in limits.items() if value is not None}
        return {**number, "type": ["integer", "string"], "pattern": _NUMBER}  # in quotes: its spelling
    if kind == "level":
        return {"enum": _LEVELS}
    if kind == "word" and not row.get("caseless"):
        return {"enum": row["words"]}
    return {"type": text_types}


def _description(row: Mapping[str, Any]) -> str:
    parts = [row["about"].rstrip(".")]
    if row["kind"] == "list":
        parts.append(f"{_LISTS[row['elements']]}; entries collective:list between semicolons")
    if row.get("bytes"):
        parts.append("in bytes, without a suffix")
    if row.get("words") and row["kind"] != "word":
        parts.append("of " + ", ".join(row["words"]))
    if row.get("default"):
        parts.append(f"default {row['default']}")
    since = row.get("since") or row.get("seen_in")
    if since:
        parts.append(f"NCCL {since} and later")
    return "; ".join(parts) + "."
