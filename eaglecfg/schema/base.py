"""What the models of users' files are made of: described fields, and a check that is strict about types."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from eaglecfg.record import record, replace
from eaglecfg.source.span import KeyPath

REQUIRED: Any = object()
"""Stands for the default of a field that has none."""

Model = TypeVar("Model", bound="StrictModel")


@record
class FieldSpec:
    """A field as declared. ``text``: it takes the scalar's spelling in the source (``2.30`` stays ``2.30``).
    ``min_length`` is the least number of items of a list, ``kind`` the type."""

    description: str
    default: Any
    text: bool
    min_length: int
    kind: Any = None


def Field(*, description: str, default: Any = REQUIRED, text: bool = False, min_length: int = 0) -> Any:
    """Declare a field of a model, as in ``name: str = Field(description="...")``."""
    return FieldSpec(description, default, text, min_length)


@record
class Above:
    """A mark on a number: it must be above ``bound``."""

    bound: float


@record
class Refusal:
    """One refused key or value. ``reason``: ``missing``, ``unknown_key``, ``literal``, ``bound``,
    ``too_short``, or the name of the type that was expected; ``context`` says more (``expected``, ``gt``)."""

    path: KeyPath
    reason: str
    value: Any
    context: Mapping[str, Any] = {}


class Refused(ValueError):
    """Data that is no such model, with every refusal."""

    def __init__(self, refusals: list[Refusal]) -> None:
        super().__init__(", ".join(f"{refusal.path}: {refusal.reason}" for refusal in refusals))
        self.refusals = refusals


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class StrictModel:
    """Frozen, strict about types, and refuses unknown keys unless ``model_open``.

    Models are written out rather than taken from pydantic, whose import takes as long as all of ``validate``.
    """

    model_open: ClassVar[bool] = False
    model_specs: ClassVar[Mapping[str, FieldSpec]] = {}

    model_fields_set: frozenset[str]
    """Names of the fields that were given, not left to their defaults."""

    def __init_subclass__(cls) -> None:
        cls.model_specs = {name: spec for name, spec in vars(cls).items() if isinstance(spec, FieldSpec)}
        for name in cls.model_specs:
            delattr(cls, name)

    def __init__(self, **values: Any) -> None:
        vars(self).update(vars(self.model_validate(values)))

    @classmethod
    def model_validate(cls, data: Any) -> Self:
        """The model that ``data`` gives. Raises Refused."""
        refusals: list[Refusal] = []
        model = _take(cls, data, (), refusals)
        if refusals:
            raise Refused(refusals)
        return cast("Self", model)

    @classmethod
    def model_construct(cls) -> Self:
        """A model of defaults alone; what has no default is absent."""
        specs = cls.model_specs.items()
        return _made(cls, {name: spec.default for name, spec in specs if spec.default is not REQUIRED}, ())

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The same with some fields replaced, unchecked."""
        values = {name: getattr(self, name) for name in self.model_specs}
        return _made(type(self), values | dict(update), (*self.model_fields_set, *update))

    def model_dump(self, *, exclude_unset: bool = False) -> dict[str, Any]:
        """Plain data, on request without what was not given."""
        names = [name for name in self.model_specs if name in self.model_fields_set or not exclude_unset]
        return {name: _plain(getattr(self, name), exclude_unset) for name in names}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in sorted(self.model_fields_set))
        return f"{type(self).__name__}({given})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")


def model_fields(model: type[StrictModel]) -> Mapping[str, FieldSpec]:
    """The fields of ``model`` with their types, which are looked up at the first call."""
    if model not in _FIELDS:
        kinds = get_type_hints(model, include_extras=True)
        specs = model.model_specs.items()
        _FIELDS[model] = {name: replace(spec, kind=kinds[name]) for name, spec in specs}
    return _FIELDS[model]


_FIELDS: dict[type[StrictModel], Mapping[str, FieldSpec]] = {}


def _made(model: type[Model], values: Mapping[str, Any], given: Any) -> Model:
    made = object.__new__(model)
    vars(made).update(values, model_fields_set=frozenset(given))
    return made


def _plain(value: Any, exclude_unset: bool) -> Any:
    if isinstance(value, StrictModel):
        return value.model_dump(exclude_unset=exclude_unset)
    if isinstance(value, dict):
        return {key: _plain(item, exclude_unset) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, exclude_unset) for item in value)
    return value


def _take(kind: Any, value: Any, path: KeyPath, out: list[Refusal]) -> Any:
    """``value`` as ``kind``. What is wrong with it goes to ``out``; the result means nothing then."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if kind in _SCALARS:
        return _scalar(kind, value, path, out)
    if origin is Annotated:
        before = len(out)
        taken = _take(parts[0], value, path, out)
        if len(out) == before and taken <= parts[1].bound:
            out.append(Refusal(path, "bound", value, {"gt": parts[1].bound}))
        return taken
    if origin in (Union, UnionType):
        return _one_of(parts, value, path, out)
    if origin is Literal:
        if not any(type(value) is type(choice) and value == choice for choice in parts):
            *most, last = map(str, parts)
            expected = f"{', '.join(most)} or {last}" if most else last
            out.append(Refusal(path, "literal", value, {"expected": expected}))
        return value
    if origin in (list, tuple):
        if not isinstance(value, list):
            out.append(Refusal(path, "list", value))
            return value
        return origin(_take(parts[0], item, (*path, i), out) for i, item in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            out.append(Refusal(path, "dict", value))
            return value
        return {key: _take(parts[1], item, (*path, key), out) for key, item in value.items()}
    return _model(kind, value, path, out)


_SCALARS = {str: (str,), int: (int,), bool: (bool,), float: (float, int)}
"""Scalar type -> types of values that it takes. A bool is no int here, and an int is a float."""


def _scalar(kind: type, value: Any, path: KeyPath, out: list[Refusal]) -> Any:
    if type(value) not in _SCALARS[kind]:
        out.append(Refusal(path, kind.__name__, value))
        return value
    try:
        return kind(value)
    except OverflowError:  # a whole number beyond the largest float
        out.append(Refusal(path, kind.__name__, value))


def _one_of(kinds: tuple[Any, ...], value: Any, path: KeyPath, out: list[Refusal]) -> Any:
    if value is None and NoneType in kinds:
        return None
    meant: list[Refusal] = []
    for kind in kinds:
        if kind is NoneType:
            continue
        refusals: list[Refusal] = []
        taken = _take(kind, value, path, refusals)
        if not refusals:
            return taken
        # The member that was meant is the one that got deepest, else the first; a number need not be whole.
        if not meant or _depth(refusals) > _depth(meant) or kind is float:
            meant = refusals
    out.extend(meant)
    return value


def _depth(refusals: list[Refusal]) -> int:
    return max(len(each.path) for each in refusals)


def _model(model: type[StrictModel], value: Any, path: KeyPath, out: list[Refusal]) -> Any:
    if isinstance(value, model):
        return value
    if not isinstance(value, dict):
        out.append(Refusal(path, "model", value))
        return value
    fields, values = model_fields(model), {}
    for name, spec in fields.items():
        if name in value:
            values[name] = _take(spec.kind, value[name], (*path, name), out)
            if isinstance(value[name], list) and len(value[name]) < spec.min_length:
                out.append(Refusal((*path, name), "too_short", value[name]))
        elif spec.default is REQUIRED:
            out.append(Refusal((*path, name), "missing", value))
        else:
            # A copy, so that no two models share what can be changed.
            values[name] = spec.default.copy() if isinstance(spec.default, list | dict) else spec.default
    unknown = [] if model.model_open else [key for key in value if key not in fields]
    out.extend(Refusal((*path, key), "unknown_key", value[key]) for key in unknown)
    return _made(model, values, [name for name in fields if name in value])
