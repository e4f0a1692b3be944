"""A look at a machine as JSON, version 1, and the schema of it.

Its shape is a promise: keys are added, never renamed or dropped. The schema is made of the records
themselves, so that neither goes its own way.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from eaglecfg.machine.findings import SEVERITIES, Finding
from eaglecfg.machine.hardware import Block, block_of
from eaglecfg.machine.survey import Machine, Unseen

NAME = "doctor.schema.json"

Schema = dict[str, Any]


def as_json(
    machine: Machine, findings: Sequence[Finding], unseen: Sequence[Unseen], code: int, *, version: str
) -> str:
    """The look as JSON text. ``version`` is the tool's own, ``code`` the exit code that it ends with."""
    block = block_of(machine)
    counts: dict[str, int] = {name: sum(one.severity == name for one in findings) for name in SEVERITIES}
    out = {
        "version": 1,
        "tool": {"name": "eaglecfg", "version": version},
        "summary": {**counts, "unseen": len(unseen), "exit_code": code},
        "machine": {
            name: plain(getattr(machine, name)) for name in Machine.__annotations__ if name != "unseen"
        },
        "hardware": None if block is None else plain(block),
        "findings": plain(tuple(findings)),
        "unseen": plain(tuple(unseen)),
    }
    return json.dumps(out, indent=2, ensure_ascii=False) + "\n"


def plain(value: Any) -> Any:
    """Records as mappings, at any depth."""
    names = getattr(type(value), "__slots__", None)
    if names:
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, str):  # names of files may hold bytes that are no text
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def json_schema() -> Schema:
    """JSON Schema (draft 7) of ``as_json``."""
    definitions: dict[str, Schema] = {}
    machine = _record(Machine, definitions)
    machine["properties"].pop("unseen")
    machine["required"].remove("unseen")
    counts = {name: {"type": "integer", "minimum": 0} for name in (*SEVERITIES, "unseen", "exit_code")}
    text = {"type": "string"}
    properties: Schema = {
        "version": {"const": 1},
        "tool": _object({"name": text, "version": text}),
        "summary": {**_object(counts), "required": ["exit_code"]},
        "machine": machine,
        "hardware": _of(Block | None, definitions),
        "findings": _of(tuple[Finding, ...], definitions),
        "unseen": _of(tuple[Unseen, ...], definitions),
        "error": _object({"message": text}),
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"urn:eaglecfg:{NAME}",
        "title": "eaglecfg doctor --format json",
        "description": "Keys may be added in later releases; none is renamed or dropped within version 1.",
        "type": "object",
        "properties": properties,
        "required": ["version", "tool", "summary", "findings"],
        "if": {"not": {"required": ["error"]}},
        "then": {"required": ["machine", "hardware", "unseen"]},
        "definitions": dict(sorted(definitions.items())),
    }


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _record(kind: type, definitions: dict[str, Schema]) -> Schema:
    hints = get_type_hints(kind)
    about = " ".join((kind.__doc__ or "").replace("``", "").split())
    return {"description": about, **_object({name: _of(hint, definitions) for name, hint in hints.items()})}


def _of(hint: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of one annotation."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(one, definitions) for one in inner]}
    if origin is tuple:
        if inner[-1] is Ellipsis:
            return {"type": "array", "items": _of(inner[0], definitions)}
        return {"type": "array", "items": [_of(one, definitions) for one in inner]}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(inner[1], definitions)}
    if hint is Any:
        return {}
    names = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    if hint in names:
        return {"type": names[hint]}
    if hint.__name__ not in definitions:
        definitions[hint.__name__] = {}
        definitions[hint.__name__] = _record(hint, definitions)
    return {"$ref": f"#/definitions/{hint.__name__}"}
