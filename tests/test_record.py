"""Value types: what a record shares with a frozen, slotted dataclass."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from eaglecfg.record import record, replace


@record
class Point:
    """A place with a name and notes."""

    x: int
    y: int = 0
    notes: list[str] = field(default_factory=list)
    label: str = field(default="here")

    @property
    def total(self) -> int:
        return self.x + self.y


def test_it_takes_its_fields_by_place_or_name_and_knows_their_defaults() -> None:
    assert Point(1, y=2) == Point(1, 2, [], "here")
    assert Point(1).total == 1
    assert repr(Point(1, 2)) == "Point(x=1, y=2, notes=[], label='here')"


def test_a_default_that_can_change_is_made_anew() -> None:
    first, second = Point(1), Point(1)
    first.notes.append("seen")
    assert second.notes == []


@pytest.mark.parametrize("values", [{}, {"x": 1, "z": 2}])
def test_missing_and_unknown_fields_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Point(**values)


def test_it_is_frozen_and_has_no_room_for_more() -> None:
    point: Any = Point(1)
    for name in ("x", "other"):
        with pytest.raises(FrozenInstanceError):
            setattr(point, name, 2)
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_it_equals_its_own_kind_only_and_hashes_by_value() -> None:
    @record
    class Other:
        x: int
        y: int

    @record
    class Pair:
        x: int
        y: int

    others: list[Any] = [Other(1, 2), (1, 2)]
    assert Pair(1, 2) not in others
    assert len({Pair(1, 2), Pair(1, 2), Pair(2, 1)}) == 2


def test_it_can_be_matched_copied_pickled_and_replaced() -> None:
    point = Point(1, 2, ["a"])
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point
    assert replace(point, y=3) == Point(1, 3, ["a"])
    with pytest.raises(TypeError):
        replace(point, z=3)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": 1, "b": [1, {"c": 2}]}, {"b": [1, {"c": 2}], "a": 1}),
        ([], []),
        ([[1], {2}], [[1], {2}]),
        (Point(1, 2, ["x"]), Point(1, 2, ["x"])),
        (({"a": Point(1)},), ({"a": Point(1)},)),
        ({1: 1.0}, {1: 1}),
    ],
)
def test_equal_records_hash_alike_whatever_they_hold(first: Any, second: Any) -> None:
    one, other = Point(1, notes=first), Point(1, notes=second)
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, Point(2, notes=first)}) == 2
