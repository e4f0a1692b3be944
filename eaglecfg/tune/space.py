"""The search space of a study: dimensions, their choices, and the arms they span."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from eaglecfg.errors import UsageError
from eaglecfg.rules.study.parts import SECTIONS, UNSET, WHOLE_BLOCKS
from eaglecfg.rules.study.ranges import MOST_CHOICES, RANGE_KEYS, STOPS, count_of, is_number
from eaglecfg.schema.deployment import Deployment
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath, show_path
from eaglecfg.tune.arm import OFF, Arm, apply, arm_key, changed_keys, setting, spelled
from eaglecfg.tune.label import label_of

TEXTS = ("nccl", "env")
"""Blocks whose values are text, numbers among them."""

Point = dict[str, int]
"""A place in the space: for each parameter that is in play, the number of its option."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One coordinate as a sampler sees it. ``ordinal``: the options are numbers in rising order."""

    name: str
    options: tuple[Any, ...]
    ordinal: bool


@dataclass(frozen=True, slots=True)
class Dimension:
    """One key of the space. ``parameter`` picks an entry; a block opens ``inner`` parameters."""

    key: str
    parameter: Parameter
    inner: Mapping[int, tuple[tuple[str, Parameter], ...]]

    def active(self, point: Mapping[str, int]) -> tuple[tuple[str, Parameter], ...]:
        """Fields that the chosen entry of ``point`` opens, with the parameter of each."""
        return self.inner.get(point[self.parameter.name], ())

    def value(self, point: Mapping[str, int]) -> Any:
        """The value that ``point`` chooses for the key."""
        chosen = self.parameter.options[point[self.parameter.name]]
        if not isinstance(chosen, dict):
            return chosen
        return {**chosen, **{name: inner.options[point[inner.name]] for name, inner in self.active(point)}}

    def fields(self) -> tuple[str, ...]:
        """Names inside the block that some entry sets; none where the key is no block."""
        fixed = [name for option in self.parameter.options if isinstance(option, dict) for name in option]
        opened = [name for fields in self.inner.values() for name, _ in fields]
        return tuple(dict.fromkeys([*fixed, *opened]))

    def points(self) -> Iterator[Point]:
        """Every choice, in the order of the file."""
        for index in range(len(self.parameter.options)):
            start: Point = {self.parameter.name: index}
            fields = self.active(start)
            for picks in itertools.product(*(range(len(inner.options)) for _, inner in fields)):
                yield start | {inner.name: pick for (_, inner), pick in zip(fields, picks, strict=True)}

    @property
    def size(self) -> int:
        """Number of choices."""
        return sum(
            math.prod(len(inner.options) for _, inner in self.inner.get(index, ()))
            for index in range(len(self.parameter.options))
        )


@dataclass(frozen=True, slots=True)
class Condition:
    """What makes a key idle: the key ``by`` has one of the values ``idle``. ``why`` in one clause."""

    by: str
    idle: tuple[Any, ...]
    why: str

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the key is idle under what was chosen for the others."""
        return self.by in values and any(_same(values[self.by], idle) for idle in self.idle)


@dataclass(frozen=True, slots=True)
class Space:
    """All dimensions over one deployment. A block's own key comes before the keys inside it, and what
    ``conditions`` go by before the keys that they make idle: those keep the deployment's value then."""

    base: Deployment
    dimensions: tuple[Dimension, ...]
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of combinations, before equal ones are merged."""
        return math.prod(dimension.size for dimension in self.dimensions)

    @property
    def searched(self) -> tuple[str, ...]:
        """Keys with more than one choice."""
        return tuple(dimension.key for dimension in self.dimensions if dimension.size > 1)

    def in_play(self, dimension: Dimension, values: Mapping[str, Any]) -> bool:
        """Whether ``dimension`` means anything under what was chosen for the block around it."""
        condition = self.conditions.get(dimension.key)
        if condition is not None and condition.holds(values):
            return False
        around = setting(dimension.key)[0]
        return around == dimension.key or values.get(around) != OFF

    def values(self, point: Mapping[str, int]) -> dict[str, Any]:
        """The space's key -> value at ``point``, keys inside a block that is off left out."""
        out: dict[str, Any] = {}
        for dimension in self.dimensions:
            if self.in_play(dimension, out):
                out[dimension.key] = dimension.value(point)
        return out

    def arm(self, values: Mapping[str, Any]) -> Arm:
        """The arm that ``values`` make. Raises UsageError where the schema refuses one."""
        deployment = apply(self.base, values)
        return Arm(
            arm_key(deployment),
            label_of(deployment, self.searched, self.base),
            deployment,
            dict(values),
            changed_keys(self.base, deployment),
        )

    def arms(self) -> Iterator[Arm]:
        """Every distinct arm, in the order of the file."""
        seen: set[str] = set()
        for picks in itertools.product(*(tuple(dimension.points()) for dimension in self.dimensions)):
            point: Point = {}
            for pick in picks:
                point |= pick
            arm = self.arm(self.values(point))
            if arm.key not in seen:
                seen.add(arm.key)
                yield arm

    def locate(self, arm: Arm) -> Point | None:
        """The point that gives ``arm``; a key that it did not choose takes the choice that changes nothing.

        None where the space, perhaps edited since, no longer holds the arm.
        """
        point: Point = {}
        own = arm_key(self.base)
        chosen: dict[str, Any] = {}
        for dimension in self.dimensions:
            if not self.in_play(dimension, chosen):
                continue
            for candidate in dimension.points():
                value = dimension.value(candidate)
                if dimension.key in arm.values:
                    fits = _same(arm.values[dimension.key], value)
                else:
                    fits = arm_key(apply(self.base, {dimension.key: value})) == own
                if fits:
                    point |= candidate
                    chosen[dimension.key] = value
                    break
            else:
                return None
        return point if arm_key(apply(self.base, chosen)) == arm.key else None

    def without(self, keys: Sequence[str]) -> Space:
        """The space with some dimensions left at what the deployment has."""
        kept = tuple(item for item in self.dimensions if item.key not in keys)
        return Space(self.base, kept, self.conditions)

    def under(self, conditions: Mapping[str, Condition]) -> Space:
        """The space with some keys idle under choices of others."""
        order = sorted(self.dimensions, key=lambda item: item.key in conditions)
        return Space(self.base, tuple(order), conditions)


def read_space(document: Document, space: Mapping[str, Any], base: Deployment) -> Space:
    """The space of a study file. Raises UsageError that names the key and what stands there."""
    dimensions = [_dimension(document, key, entry) for key, entry in space.items()]
    known: dict[tuple[str, ...], str] = {}
    for dimension in dimensions:
        path = setting(dimension.key)
        if path in known:
            _refuse(document, (dimension.key,), f"the same key as {known[path]}; keep one of them")
        known[path] = dimension.key
    _refuse_twice(document, dimensions, known)
    taken = {dimension.parameter.name for dimension in dimensions}
    for dimension in dimensions:
        for _, inner in (pair for fields in dimension.inner.values() for pair in fields):
            if inner.name in taken:
                why = f"the choices of {inner.name} stand here and under a key of their own; keep one"
                _refuse(document, (dimension.key,), why)
    return Space(base, tuple(sorted(dimensions, key=lambda item: item.key.count("."))))


def _refuse_twice(
    document: Document, dimensions: Sequence[Dimension], known: Mapping[tuple[str, ...], str]
) -> None:
    """Refuse an entry of ``nccl`` with a variable that it has in another spelling, too, or that is a key of
    its own: one would hide the other."""
    for dimension in (item for item in dimensions if item.key == "nccl"):
        for index, option in enumerate(dimension.parameter.options):
            inside = [*option] if isinstance(option, dict) else []
            inside += [name for name, _ in dimension.inner.get(index, ())]
            settings = [spelled(f"nccl.{name}") for name in inside]
            if len(set(settings)) < len(settings):
                _refuse(
                    document, ("nccl",), f"an entry has one variable twice: {', '.join(inside)}; keep one"
                )
        for name in dimension.fields():
            own = known.get(spelled(f"nccl.{name}"))
            if own is not None:
                _refuse(document, (own,), f"stands in an entry of nccl, too ({name}); keep one of them")


def _refuse(document: Document, path: KeyPath, why: str) -> NoReturn:
    full = ("space", *path)
    start = document.place(full).value.start
    raise UsageError(f"{document.name}:{start.line}:{start.column}: {show_path(full)}: {why}.")


def _dimension(document: Document, key: str, entry: Any) -> Dimension:
    path = spelled(key)
    if path[0] not in SECTIONS or (len(path) == 1 and path[0] not in WHOLE_BLOCKS):
        known = ", ".join(f"{section}.<key>" for section in SECTIONS)
        _refuse(document, (key,), f"expected {', '.join(WHOLE_BLOCKS)} or one of {known}, got {key}")
    entries = entry if isinstance(entry, list) else [entry]
    if len(entries) > MOST_CHOICES:
        _refuse(document, (key,), f"expected up to {MOST_CHOICES} choices, got {len(entries)}")
    if not entries:
        _refuse(document, (key,), "expected at least one choice, got an empty list")
    options: list[Any] = []
    inner: dict[int, tuple[tuple[str, Parameter], ...]] = {}
    for index, item in enumerate(entries):
        at: KeyPath = (key, index) if isinstance(entry, list) else (key,)
        if _is_range(item):
            stops = _stops(document, at, item)
            options += map(str, stops) if path[0] in TEXTS else stops
        elif isinstance(item, dict) and len(path) > 1:
            _refuse_block(document, at, item)
        elif isinstance(item, dict):
            number = f"[{index}]" if sum(isinstance(other, dict) for other in entries) > 1 else ""
            fields = [
                (name, _field(document, (*at, name), f"{key}{number}.{name}", given))
                for name, given in item.items()
            ]
            inner[len(options)] = tuple((name, field) for name, field in fields if len(field.options) > 1)
            options.append({name: field.options[0] for name, field in fields if len(field.options) == 1})
        else:
            options.append(_scalar(document, at, path, item))
    for index, option in enumerate(options):
        if index not in inner and any(_same(option, other) for other in options[:index]):
            _refuse(document, (key,), f"the choice {option} stands here twice")
    return Dimension(key, _parameter(key, options), inner)


def _refuse_block(document: Document, at: KeyPath, given: Mapping[str, Any]) -> NoReturn:
    """A block where one value is chosen: most often a range in other words."""
    why = f"expected choices or a range, got the keys {', '.join(map(str, given)) or 'of an empty block'}"
    _refuse(document, at, f"{why}; write {{low: 1, high: 4, step: 1}} for a range")


def _same(one: Any, two: Any) -> bool:
    """Equal and of one type: 1 and true are different settings."""
    return type(one) is type(two) and bool(one == two)


def _field(document: Document, at: KeyPath, name: str, given: Any) -> Parameter:
    """The options of one key inside a block: a list, a range, or one value."""
    if isinstance(given, list) and not 0 < len(given) <= MOST_CHOICES:
        _refuse(document, at, f"expected 1 to {MOST_CHOICES} choices, got {len(given)}")
    if _is_range(given):
        stops = _stops(document, at, given)
        return _parameter(name, list(map(str, stops)) if at[0] in TEXTS else stops)
    if isinstance(given, dict):
        _refuse_block(document, at, given)
    if at[0] != "nccl":
        return _parameter(name, given if isinstance(given, list) else [given])
    places = [((*at, index), item) for index, item in enumerate(given)] if isinstance(given, list) else None
    texts = [_scalar(document, place, ("nccl", str(at[-1])), item) for place, item in places or [(at, given)]]
    return _parameter(name, texts)


def _parameter(name: str, options: Sequence[Any]) -> Parameter:
    numbers = all(isinstance(option, (int, float)) and not isinstance(option, bool) for option in options)
    ordinal = numbers and len(options) > 1
    return Parameter(name, tuple(sorted(options)) if ordinal else tuple(options), ordinal)


def _scalar(document: Document, at: KeyPath, path: tuple[str, ...], item: Any) -> Any:
    """A choice as written; NCCL and environment values are text and keep the spelling of the file."""
    if item is None:
        return UNSET
    if path[0] in TEXTS and not isinstance(item, str):
        return document.place(("space", *at)).text or str(item)
    return item


def _is_range(item: Any) -> bool:
    return isinstance(item, dict) and {"low", "high"} <= set(item) <= RANGE_KEYS


def _stops(document: Document, at: KeyPath, item: Mapping[str, Any]) -> list[int | float]:
    """The values of a range. With ``log`` the step is the factor between values, 2 unless given."""
    low, high, step = item["low"], item["high"], item.get("step")
    numbers = [value for value in (low, high, step) if value is not None]
    if not all(is_number(value) for value in numbers):
        _refuse(document, at, "expected finite numbers for low, high and step")
    if not low <= high:
        _refuse(document, at, f"expected low <= high, got {low} > {high}")
    log = bool(item.get("log"))
    if (step is not None and step <= (1 if log else 0)) or (log and low <= 0):
        _refuse(document, at, "expected a step above 0 (above 1 with log, and low above 0)")
    whole = all(isinstance(value, int) for value in numbers)
    if count_of(low, high, step, log=log) > MOST_CHOICES:
        _refuse(document, at, f"more than {MOST_CHOICES} values; give a larger step")
    if log:
        factor = step or 2
        values = [low * factor**power for power in range(int(math.log(high / low, factor) + 1e-9) + 1)]
    else:
        distance = step or (1 if whole else (high - low) / (STOPS - 1) or 1.0)
        values = [low + index * distance for index in range(int((high - low) / distance + 1e-9) + 1)]
    return values if whole else [float(f"{value:.12g}") for value in values]
