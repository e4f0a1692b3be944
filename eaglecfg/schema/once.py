"""JSON Schemas in which each fault is found once, by the keyword that names what is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Schema = dict[str, Any]

_ORDER = ("object", "array", "string", "number", "integer", "boolean", "null")


def once(schema: Schema) -> Schema:
    """``schema`` without unions: ``anyOf`` can only say that no option fits.

    Options of different types become one list of types, and what each type is held to stands beside it, since
    a keyword says nothing about values of other types. A definition has no type of its own, its users have.
    Raises ValueError for options that cannot be told apart by type.
    """
    out: Schema = _flat(schema)
    out["definitions"] = {
        name: {key: value for key, value in part.items() if key != "type"}
        for name, part in out.get("definitions", {}).items()
    }
    return out if out["definitions"] else {key: value for key, value in out.items() if key != "definitions"}


def _flat(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_flat(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {
        key: value
        if key in ("default", "examples", "enum", "const", "required", "if", "then")
        else {name: _flat(part) for name, part in value.items()}
        if key in ("properties", "definitions")
        else _flat(value)
        for key, value in schema.items()
        if key not in ("anyOf", "oneOf", "allOf", "$ref")
    }
    options = _options(schema)
    if options:
        out |= _union(options)
    elif "enum" in out or "const" in out:
        out.pop("type", None)  # a value of another type would be two faults
    return out


def _options(schema: Schema) -> list[Schema]:
    """The options of a union, and of unions in it; one block alone is one option. Empty for no union."""
    if "$ref" in schema:
        return [{"$ref": schema["$ref"]}]
    parts = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    return [option for part in parts for option in (_options(part) or [part])]


def _union(options: Sequence[Schema]) -> Schema:
    types: list[str] = []
    out: Schema = {}
    for option in options:
        if "$ref" in option:
            own, rest = ["object"], {"allOf": [option]}
        else:
            flat = _flat(option)
            choices = flat.pop("enum", [flat.pop("const")] if "const" in flat else None)
            given = option.get("type", ())
            own, rest = [given] if isinstance(given, str) else list(given), flat
            rest.pop("type", None)
            if choices is not None and len(options) > 1:
                nullable = [other for other in options if other is not option] == [{"type": "null"}]
                rest |= {"enum": [*choices, None]} if nullable else _of_type(own, choices)
            elif choices is not None:
                rest |= {"enum": choices}
        if set(own) & set(types) or set(rest) & set(out):
            raise ValueError(f"these options cannot be told apart by type: {options}")
        types += own
        out |= rest
    if "enum" in out:
        return out
    types = [each for each in _ORDER if each in types]
    return {"type": types if len(types) > 1 else types[0], **out}


def _of_type(types: Sequence[str], choices: Sequence[Any]) -> Schema:
    return {"if": {"type": types[0]}, "then": {"enum": list(choices)}}
