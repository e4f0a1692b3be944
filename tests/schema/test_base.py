"""The models themselves: strict types, frozen values, and what was given told from what was left out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from eaglecfg.schema.base import Above, Field, Refused, StrictModel


class Inner(StrictModel):
    """A block."""

    width: int = Field(description="A width.")
    share: float = Field(default=0.5, description="A share.")


class Outer(StrictModel):
    """A file."""

    name: str = Field(description="A name.")
    on: bool = Field(default=False, description="A switch.")
    mode: Literal["a", "b"] | None = Field(default=None, description="A mode.")
    form: Literal["off"] | Inner = Field(default="off", description="A word or a block.")
    counts: list[Annotated[int, Above(0)]] = Field(default=[1], min_length=1, description="Counts.")
    pair: tuple[int, ...] = Field(default=(), description="Numbers.")
    blocks: dict[str, Inner] = Field(default={}, description="Blocks by name.")
    bound: int | float = Field(default=0, description="A number.")


def refused(data: Any) -> list[tuple[Any, ...]]:
    with pytest.raises(Refused) as caught:
        Outer.model_validate(data)
    return [(*refusal.path, refusal.reason) for refusal in caught.value.refusals]


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("name", 1, ("name", "str")),
        ("name", None, ("name", "str")),
        ("on", 1, ("on", "bool")),
        ("mode", "c", ("mode", "literal")),
        ("form", "on", ("form", "literal")),
        ("form", {}, ("form", "width", "missing")),
        ("form", {"width": True}, ("form", "width", "int")),
        ("form", {"width": 1.0}, ("form", "width", "int")),
        ("form", {"width": 1, "share": "x"}, ("form", "share", "float")),
        ("form", {"width": 1, "share": 10**400}, ("form", "share", "float")),
        ("form", {"width": 1, "depth": 1}, ("form", "depth", "unknown_key")),
        ("counts", 1, ("counts", "list")),
        ("counts", [], ("counts", "too_short")),
        ("counts", [1, 0], ("counts", 1, "bound")),
        ("counts", [True], ("counts", 0, "int")),
        ("pair", [1, "x"], ("pair", 1, "int")),
        ("blocks", [], ("blocks", "dict")),
        ("blocks", {"a": 3}, ("blocks", "a", "model")),
        ("bound", "x", ("bound", "float")),
    ],
)
def test_a_value_of_another_type_is_refused_at_its_place(
    key: str, value: Any, where: tuple[Any, ...]
) -> None:
    assert refused({"name": "n", key: value}) == [where]


def test_every_fault_is_told_at_once() -> None:
    assert refused({"on": "yes", "more": 1}) == [("name", "missing"), ("on", "bool"), ("more", "unknown_key")]
    assert refused([]) == [("model",)]


def test_values_are_taken_as_they_are_and_containers_copied() -> None:
    data = {"name": "n", "form": {"width": 3, "share": 1}, "pair": [1, 2], "bound": 2, "counts": [5]}
    model = Outer.model_validate(data)
    assert model.form == Inner(width=3, share=1.0)
    assert isinstance(model.form, Inner)
    assert isinstance(model.form.share, float)
    assert model.pair == (1, 2)
    assert isinstance(model.bound, int)
    assert model.counts is not data["counts"]


def test_what_was_given_is_told_from_defaults() -> None:
    model = Outer(name="n", form=Inner(width=3))
    assert model.model_fields_set == {"name", "form"}
    assert model.model_dump(exclude_unset=True) == {"name": "n", "form": {"width": 3}}
    assert model.model_dump()["counts"] == [1]
    assert model != Outer(name="n", form=Inner(width=3), on=False)
    assert model.model_copy(update={"on": True}).model_fields_set == {"name", "form", "on"}
    Outer(name="n").counts.append(2)
    assert Outer(name="n").counts == [1]


def test_a_model_is_frozen() -> None:
    model: Any = Outer(name="n")
    with pytest.raises(AttributeError):
        model.name = "m"
