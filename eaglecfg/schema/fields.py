"""What a model's fields are: which take source text, which hold a model of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from eaglecfg.record import record
from eaglecfg.schema.base import StrictModel, kinds_of
from eaglecfg.schema.core import REQUIRED
from eaglecfg.source.span import KeyPath


@record
class FieldKind:
    """One field. ``model`` is the model inside; ``named`` tells that it maps names to such models."""

    text: bool
    model: type[StrictModel] | None
    named: bool


_FIELDS: dict[type[StrictModel], Mapping[str, FieldKind]] = {}


def fields_of(model: type[StrictModel]) -> Mapping[str, FieldKind]:
    """The fields of ``model`` by name."""
    if model not in _FIELDS:
        kinds = kinds_of(model)
        _FIELDS[model] = {
            name: _field_kind(kinds[name], spec.text) for name, spec in model.model_fields.items()
        }
    return _FIELDS[model]


def _field_kind(annotation: Any, text: bool) -> FieldKind:
    inner = _model_in(annotation)
    return FieldKind(text, inner, inner is not None and get_origin(annotation) is dict)


def field_at(model: type[StrictModel], path: KeyPath) -> FieldKind | None:
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


def takes_text(model: type[StrictModel], path: KeyPath) -> bool:
    """Whether a scalar at ``path`` means its spelling, so that ``2.30`` and ``010`` are unambiguous there."""
    found = field_at(model, path)
    return found is not None and found.text


def null_means_absent(model: type[StrictModel], key: str) -> bool:
    """Whether ``key: null`` is the same as no such key: one that has to be there cannot be absent."""
    spec = model.model_fields.get(key)
    return spec is not None and spec.default is not REQUIRED


def _model_in(annotation: Any) -> type[StrictModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        return annotation
    for part in get_args(annotation):
        if (inner := _model_in(part)) is not None:
            return inner
    return None
