"""How fields are declared, and what their annotations are to pydantic_core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_core import core_schema as core

from eaglecfg.record import record

REQUIRED: Any = object()
"""Stands for the default of a field that has none."""


@record
class FieldSpec:
    """A field as declared. ``text``: it takes the scalar's spelling in the source (``2.30`` stays ``2.30``).
    ``examples``: good values as a file would hold them, for editors and for the reference page.

    ``gt`` is the bound that a number must be above, ``le`` the largest that it may be, ``min_length`` the
    least number of items of a list.
    """

    description: str
    default: Any
    text: bool
    gt: float | None
    min_length: int | None
    examples: Sequence[Any] = ()
    le: float | None = None


def Field(
    *,
    description: str = "",
    default: Any = REQUIRED,
    text: bool = False,
    gt: float | None = None,
    le: float | None = None,
    min_length: int | None = None,
    examples: Sequence[Any] = (),
) -> Any:
    """Declare a field, as in ``name: str = Field(description="...")``.

    Within an annotation only the bounds count, as in ``list[Annotated[int, Field(gt=0)]]``.
    """
    return FieldSpec(description, default, text, gt, min_length, examples, le)


@record
class Before:
    """A mark on an annotation: ``check`` gets the value first, and may raise PydanticCustomError."""

    check: Callable[[Any], Any]


@record
class Tagged:
    """A mark on a union: ``tag`` tells from the value which of ``tags``, in the union's order, is meant."""

    tag: Callable[[Any], str]
    tags: tuple[str, ...]


def model_schema(
    model: type[Any],
    fields: Mapping[str, FieldSpec],
    kinds: Mapping[str, Any],
    extra: core.ExtraBehavior,
) -> core.CoreSchema:
    """The schema of a model with ``fields``, whose annotations are ``kinds``."""
    described = {name: core.model_field(_field_schema(kinds[name], spec)) for name, spec in fields.items()}
    return core.model_schema(
        model,
        core.model_fields_schema(described, model_name=model.__name__),
        ref=f"{model.__module__}.{model.__qualname__}:{id(model)}",
        config=core.CoreConfig(title=model.__name__, strict=True, extra_fields_behavior=extra),
        frozen=True,
    )


def _field_schema(kind: Any, spec: FieldSpec) -> core.CoreSchema:
    schema = _bounded(schema_of(kind), spec)
    return schema if spec.default is REQUIRED else core.with_default_schema(schema, default=spec.default)


def schema_of(kind: Any) -> core.CoreSchema:
    """The schema of what an annotation of a field says. Raises TypeError for other annotations."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if hasattr(kind, "core_schema"):  # a model
        schema: core.CoreSchema = kind.core_schema()
        return schema
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _marked(*parts)
    if origin in (Union, UnionType):
        some: list[Any] = [schema_of(part) for part in parts if part is not NoneType]
        schema = some[0] if len(some) == 1 else core.union_schema(some)
        return core.nullable_schema(schema) if NoneType in parts else schema
    if origin is Literal:
        return core.literal_schema(list(parts))
    if origin is list:
        return core.list_schema(schema_of(parts[0]))
    if origin is dict:
        return core.dict_schema(schema_of(parts[0]), schema_of(parts[1]))
    if origin is tuple and parts[1:] == (...,):
        # Not strict about the tuple itself: in a file it is a list.
        return core.tuple_variable_schema(schema_of(parts[0]), strict=False)
    raise TypeError(f"no schema for fields of type {kind!r}")


_PLAIN: Mapping[Any, core.CoreSchema] = {
    Any: core.any_schema(),
    str: core.str_schema(),
    int: core.int_schema(),
    float: core.float_schema(),
    bool: core.bool_schema(),
}


def _marked(kind: Any, mark: Any) -> core.CoreSchema:
    if isinstance(mark, Before):
        return core.no_info_before_validator_function(mark.check, schema_of(kind))
    if isinstance(mark, Tagged):
        some = map(schema_of, get_args(kind))
        return core.tagged_union_schema(dict(zip(mark.tags, some, strict=True)), mark.tag)
    return _bounded(schema_of(kind), mark)


def _bounded(schema: core.CoreSchema, spec: FieldSpec) -> core.CoreSchema:
    bounds = {"gt": spec.gt, "le": spec.le, "min_length": spec.min_length}
    given: Any = {name: bound for name, bound in bounds.items() if bound is not None}
    return {**schema, **given} if given else schema
