"""What a model's fields are: which take source text, which hold a model of their own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from eaglecfg.record import record
from eaglecfg.schema.base import TEXT
from eaglecfg.source.span import KeyPath


@record
class FieldKind:
    """One field. ``model`` is the model inside; ``named`` tells that it maps names to such models."""

    text: bool
    model: type[BaseModel] | None
    named: bool


@cache
def fields_of(model: type[BaseModel]) -> Mapping[str, FieldKind]:
    """The fields of ``model`` by name."""
    out = {}
    for name, field in model.model_fields.items():
        extra = field.json_schema_extra
        inner = _model_in(field.annotation)
        named = inner is not None and getattr(field.annotation, "__origin__", None) is dict
        out[name] = FieldKind(isinstance(extra, dict) and TEXT.items() <= extra.items(), inner, named)
    return out


def field_at(model: type[BaseModel], path: KeyPath) -> FieldKind | None:
    """The field that governs ``path``: the deepest on the way, None where the model knows no such key."""
    found: FieldKind | None = None
    named = False
    for part in path:
        if named:
            named = False
            continue
        if isinstance(part, int):  # an item is what the field says of the whole list
            continue
        if found is not None and found.model is None:
            return found
        inner = model if found is None else found.model
        assert inner is not None
        found = fields_of(inner).get(str(part))
        if found is None:
            return None
        named = found.named
    return found


def takes_text(model: type[BaseModel], path: KeyPath) -> bool:
    """Whether a scalar at ``path`` means its spelling, so that ``2.30`` and ``010`` are unambiguous there."""
    found = field_at(model, path)
    return found is not None and found.text


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in get_args(annotation):
        if (inner := _model_in(part)) is not None:
            return inner
    return None
