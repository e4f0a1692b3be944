"""The base of every model that a user's file fills."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from inspect import get_annotations
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

from pydantic_core import PydanticCustomError, SchemaSerializer, SchemaValidator
from pydantic_core.core_schema import CoreSchema

from eaglecfg.schema.core import Before, Field, FieldSpec, model_schema

Model = TypeVar("Model", bound="StrictModel")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class StrictModel:
    """Frozen, strict about types, and refuses unknown keys; with ``extra="allow"`` it keeps them.

    What checks the values is pydantic's validator, taken from ``pydantic_core``. The rest of pydantic would
    build the same validator from the same declarations, but to import it takes as long as all else that a
    check does; only the export of JSON Schemas needs it. Names are those of pydantic's own models.
    Fields are not inherited.
    """

    # The places that pydantic_core fills.
    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")

    __pydantic_extra__: dict[str, Any] | None
    __pydantic_fields_set__: set[str]
    __pydantic_private__: None

    model_fields: ClassVar[Mapping[str, FieldSpec]] = {}
    model_unknown: ClassVar[Literal["forbid", "allow"]] = "forbid"

    def __init_subclass__(cls, extra: Literal["forbid", "allow"] = "forbid") -> None:
        cls.model_unknown = extra
        cls.model_fields = {name: spec for name, spec in vars(cls).items() if isinstance(spec, FieldSpec)}
        for name in cls.model_fields:
            delattr(cls, name)
        bare = get_annotations(cls).keys() ^ cls.model_fields.keys()
        if bare:
            raise TypeError(f"a field of {cls.__name__} takes an annotation and Field(...): {min(bare)}")

    def __init__(self, **values: Any) -> None:
        _validator(type(self)).validate_python(values, self_instance=self)

    @classmethod
    def core_schema(cls) -> CoreSchema:
        """The schema that pydantic_core works by."""
        if cls not in _SCHEMAS:
            _SCHEMAS[cls] = model_schema(cls, cls.model_fields, kinds_of(cls), cls.model_unknown)
        return _SCHEMAS[cls]

    @classmethod
    def model_validate(cls, data: Any) -> Self:
        """The model that ``data`` gives. Raises pydantic_core.ValidationError."""
        made: Self = _validator(cls).validate_python(data)
        return made

    def model_dump(
        self,
        *,
        mode: Literal["python", "json"] = "python",
        exclude: set[str] | None = None,
        exclude_unset: bool = False,
        exclude_none: bool = False,
    ) -> dict[str, Any]:
        """Plain data; on request without some fields, what was not given, or what is None."""
        dumped: dict[str, Any] = SchemaSerializer(self.core_schema()).to_python(
            self, mode=mode, exclude=exclude, exclude_unset=exclude_unset, exclude_none=exclude_none
        )
        return dumped

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The same with some fields replaced, unchecked."""
        given = self.model_fields_set | update.keys()
        return _made(type(self), vars(self) | dict(update), given, self.__pydantic_extra__)

    @property
    def model_fields_set(self) -> set[str]:
        """Names of the fields that were given, not left to their defaults."""
        return set(self.__pydantic_fields_set__)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, StrictModel)
        return vars(self) == vars(other) and self.__pydantic_extra__ == other.__pydantic_extra__

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        values = {**vars(self), **(self.__pydantic_extra__ or {})}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def __setattr__(self, name: str, value: Any) -> None:
        _validator(type(self)).validate_assignment(self, name, value)  # says that it is frozen

    def __delattr__(self, name: str) -> None:
        _validator(type(self)).validate_assignment(self, name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), vars(self), self.model_fields_set, self.__pydantic_extra__)


def kinds_of(model: type[StrictModel]) -> Mapping[str, Any]:
    """The annotations of a model's fields, by name."""
    return get_annotations(model, eval_str=True)


_SCHEMAS: dict[type[StrictModel], CoreSchema] = {}
_VALIDATORS: dict[type[StrictModel], SchemaValidator] = {}


def _validator(model: type[StrictModel]) -> SchemaValidator:
    # Built on first use: what is only a part of another model is then never built for itself.
    if model not in _VALIDATORS:
        _VALIDATORS[model] = SchemaValidator(model.core_schema())
    return _VALIDATORS[model]


def _made(
    model: type[Model], values: Mapping[str, Any], given: Collection[str], extra: Mapping[str, Any] | None
) -> Model:
    made = object.__new__(model)
    places = {"__dict__": dict(values), "__pydantic_fields_set__": set(given), "__pydantic_private__": None}
    places["__pydantic_extra__"] = None if extra is None else dict(extra)
    for name, value in places.items():
        object.__setattr__(made, name, value)
    return made


def _exactly_one(value: Any) -> Any:
    # To a Literal, true and 1.0 are as good as 1.
    if type(value) is not int or value != 1:
        raise PydanticCustomError("literal_error", "expected {expected}", {"expected": "1"})
    return value


FormatVersion = Annotated[Literal[1], Before(_exactly_one)]
"""The version of a file format; there is one so far."""
