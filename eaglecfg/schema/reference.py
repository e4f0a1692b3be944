"""The keys of our files as Markdown, from their JSON Schemas: key, type, default, meaning, example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
_TEXT = {"string", "number", "boolean"}
"""Types of a value that is taken in its spelling."""

_PLAIN = re.compile(r"-{0,2}[A-Za-z./][\w./+ -]*|\d+(\.\w+){2,}|\d+[A-Za-z]+")
"""Text that YAML takes for text without quotes."""

_SHOWN = 2
"""Examples of one key; an editor shows them all."""

_HEAD = ("key", "type", "default", "meaning", "example")


def reference(schema: Schema) -> Iterator[str]:
    """The lines of one schema's reference: the file's own keys first, then each block where it comes up."""
    sections = dict(_sections(schema))
    title = schema["title"]
    yield f"## {title}"
    for place, part in sections.items():
        yield ""
        if place:
            yield f"### {_heading(title, place)}"
            yield ""
        if part.get("description"):
            yield part["description"]
            yield ""
        yield from _table(schema, part, title, place)
        other = part.get("additionalProperties")
        if other and part.get("properties"):
            yield ""
            yield f"Other keys: {_type(schema, other, title, place) if other is not True else 'anything'}."


def _heading(title: str, place: str) -> str:
    # Two files have the same blocks; a heading names its file, so that links find it.
    return f"{title}: {place}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _sections(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Path of each block (``deployments.NAME.target``) to its schema, the whole file under the empty path."""
    waiting: list[tuple[str, Schema]] = [("", schema)]
    seen: set[str] = set()
    while waiting:
        place, part = waiting.pop(0)
        yield place, part
        inner = []
        for key, value in part.get("properties", {}).items():
            for name, below in _blocks(value, f"{place}.{key}" if place else key):
                if name not in seen:
                    seen.add(name)
                    inner.append((below, schema["definitions"][name]))
        waiting = inner + waiting


def _blocks(schema: Schema, place: str) -> Iterator[tuple[str, str]]:
    """Names of the definitions that a key's value may be, each with the path of what it holds."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if not place.startswith("defaults"):  # the same blocks as below deployments
            yield name, place
    for part in schema.get("allOf", ()):
        yield from _blocks(part, place)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _blocks(schema["additionalProperties"], f"{place}.NAME")
    if isinstance(schema.get("items"), dict):
        yield from _blocks(schema["items"], f"{place}[]")


def _table(schema: Schema, part: Schema, title: str, place: str) -> Iterator[str]:
    required = {*part.get("required", ()), *_asked_for(schema.get("then", {}), place)}
    rows = []
    for key, value in part.get("properties", {}).items():
        default = "required" if key in required else _code(value["default"]) if "default" in value else ""
        examples = "<br>".join(_code(example) for example in value.get("examples", ())[:_SHOWN])
        kind = _type(schema, value, title, f"{place}.{key}" if place else key)
        cells = (f"`{key}`", kind, default, value.get("description", ""), examples)
        rows.append([cell.replace("|", "\\|").replace("\n", " ") for cell in cells])
    filled = [n for n in range(len(_HEAD)) if any(row[n] for row in rows)]
    yield "| " + " | ".join(_HEAD[n] for n in filled) + " |"
    yield "| " + " | ".join("---" for _ in filled) + " |"
    for row in rows:
        yield "| " + " | ".join(row[n] for n in filled) + " |"


def _asked_for(condition: Schema, place: str) -> Sequence[str]:
    """The keys that a condition of the whole file asks for at ``place``."""
    for step in place.split("."):
        inner = condition.get("additionalProperties") if step == "NAME" else None
        condition = inner or condition.get("properties", {}).get(step, {})
    needed: Sequence[str] = condition.get("required", ())
    return needed


def _type(schema: Schema, value: Schema, title: str, place: str) -> str:
    """What a value may be, in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        below = next(where for where, part in _sections(schema) if schema["definitions"].get(name) is part)
        return f"[block](#{_anchor(_heading(title, below))})"
    if "enum" in value or "const" in value:
        options = [option for option in value.get("enum", (value.get("const"),)) if option is not None]
        numbers = {str(option) for option in options if not isinstance(option, str)}
        kept = [option for option in options if not (isinstance(option, str) and option in numbers)]
        return ", ".join(_code(option) for option in kept)
    types = [one for one in _listed(value.get("type", ())) if one != "null"]
    if set(types) >= _TEXT:
        types = ["string"]
    if "integer" in types and "string" in types:
        types.remove("string")  # the same number in quotes
    words = []
    if "then" in value:  # what is text has to be one of a few
        words.append(_type(schema, value["then"], title, place))
        types.remove(value["if"]["type"])
    for block in value.get("allOf", ()):
        words.append(_type(schema, block, title, place))
        types.remove("object")
    words += [_one(schema, value, each, title, place) for each in types]
    return " or ".join(dict.fromkeys(words))


def _one(schema: Schema, value: Schema, kind: str, title: str, place: str) -> str:
    if kind == "array":
        items = value.get("items")
        return (
            f"list of {_type(schema, items, title, place)}".replace("number", "numbers") if items else "list"
        )
    if kind == "object":
        inner = value.get("additionalProperties")
        if not isinstance(inner, dict) or len(inner.get("anyOf", ())) > 3:
            return "mapping"
        return f"mapping of names to {_type(schema, inner, title, place)}"
    low, high = value.get("minimum"), value.get("maximum")
    above = value.get("exclusiveMinimum")
    word = _WORDS[kind]
    if low is not None and high is not None:
        return f"{word}, {low} to {high}"
    if low is not None or (high is not None and above is None):
        return f"{word}, at least {low}" if low is not None else f"{word}, at most {high}"
    if above is not None and high is not None:
        return f"{word} above {above}, at most {high}"
    return f"{word} above {above}" if above is not None else word


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)


def _code(value: Any) -> str:
    """A value as YAML would have it, in backquotes."""
    return f"`{_flow(value)}`"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in ("true", "false", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)
