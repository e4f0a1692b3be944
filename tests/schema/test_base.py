"""Our models beside pydantic's own: the same values taken, the same refused, and what a model can do."""

from __future__ import annotations

import copy
import pickle
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Tag, ValidationError
from pydantic import Field as TheirField

from eaglecfg.schema.base import FormatVersion, StrictModel, _exactly_one
from eaglecfg.schema.core import Field, Tagged, schema_of
from eaglecfg.schema.deployment import Capture, ConfigFile, Deployment, Engine, Target
from eaglecfg.schema.training import TrainingRecord


class Inner(StrictModel):
    """A part."""

    name: str = Field()
    size: int | None = Field(default=None)


class TheirInner(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    name: str
    size: int | None = None


def form(value: Any) -> str:
    return "<shape>" if isinstance(value, dict | Inner | TheirInner) else "<off>"


class Whole(StrictModel):
    """Every kind of annotation that a model uses."""

    version: FormatVersion = Field()
    ratio: float = Field(default=1.0)
    flag: bool = Field(default=True)
    word: Literal["a", "b"] | None = Field(default=None)
    above: Annotated[int, Field(gt=0)] | None = Field(default=None)
    counts: list[Annotated[int, Field(gt=0)]] = Field(default=[1], min_length=1)
    limits: dict[str, float] = Field(default={})
    mixed: dict[str, str | int | float | bool | list[Any] | dict[str, Any] | None] = Field(default={})
    either: Annotated[Literal["off"] | Inner, Tagged(form, ("<off>", "<shape>"))] | None = Field(default=None)
    inner: Inner = Field(default=Inner(name="x"))
    inners: list[Inner] = Field(default=[])
    named: dict[str, Inner] = Field(default={})
    anything: Any = Field(default=None)
    row: tuple[int, ...] = Field(default=())


class TheirWhole(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    version: Annotated[Literal[1], BeforeValidator(_exactly_one)]
    ratio: float = 1.0
    flag: bool = True
    word: Literal["a", "b"] | None = None
    above: Annotated[int, TheirField(gt=0)] | None = None
    counts: list[Annotated[int, TheirField(gt=0)]] = TheirField(default=[1], min_length=1)
    limits: dict[str, float] = {}
    mixed: dict[str, str | int | float | bool | list[Any] | dict[str, Any] | None] = {}
    either: (
        Annotated[
            Annotated[Literal["off"], Tag("<off>")] | Annotated[TheirInner, Tag("<shape>")],
            Discriminator(form),
        ]
        | None
    ) = None
    inner: TheirInner = TheirInner(name="x")
    inners: list[TheirInner] = []
    named: dict[str, TheirInner] = {}
    anything: Any = None
    row: Annotated[tuple[int, ...], TheirField(strict=False)] = ()


SCALARS = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    2.5,
    10**30,
    10**400,
    float("inf"),
    float("nan"),
    "",
    "1",
    "a",
    "off",
]
ODD = [*SCALARS, [], {}, *([value] for value in SCALARS), *({"x": value} for value in SCALARS)]
ODD += [
    {"name": "x"},
    {"name": 1},
    {"name": "x", "size": "y"},
    [{"name": "x"}, {"size": 1}],
    {"k": {"name": "x"}},
]
ODD += [{"k": {"nam": "x"}}, (1, 2), {1, 2}, b"x", object]


def outcome(model: Any, data: Any) -> str:
    """All that can be seen; as text, since one NaN is not equal to another."""
    found: Any
    try:
        made = model.model_validate(copy.deepcopy(data))
        found = made, made.model_dump(exclude_unset=True), sorted(made.model_fields_set)
    except ValidationError as error:
        found = [(each["type"], each["loc"], each["input"], each.get("ctx")) for each in error.errors()]
    return repr(found).replace("Their", "")


@pytest.mark.parametrize("name", Whole.model_fields)
def test_a_field_takes_and_refuses_what_it_would_in_a_model_of_pydantic(name: str) -> None:
    for value in ODD:
        data = {"version": 1} | {name: value}
        assert outcome(Whole, data) == outcome(TheirWhole, data)


def test_a_whole_is_taken_or_refused_as_by_pydantic() -> None:
    for data in [*ODD, {"version": 1, "x": 1}, {"version": 1, "x": {}, "y": None, "": 1}, {1: 2}]:
        assert outcome(Whole, data) == outcome(TheirWhole, data)


TARGET = Target(checkpoint="t")


def test_a_model_is_made_by_name_and_compared_by_value() -> None:
    assert Target(checkpoint="t", hidden_size=8).hidden_size == 8
    assert Target(checkpoint="t") == TARGET
    assert hash(Target(checkpoint="t")) == hash(TARGET)
    assert Target(checkpoint="u") != TARGET
    assert Engine(version="1") != TARGET
    assert repr(Capture(offset=1)) == "Capture(layer_ids=None, offset=1, trained_boundaries=None)"


def test_a_model_refuses_in_its_constructor_too() -> None:
    wrong: dict[str, Any] = {"checkpoint": 1, "chekpoint": "t"}
    with pytest.raises(ValidationError, match="2 validation errors for Target"):
        Target(**wrong)


@pytest.mark.parametrize("name", ["checkpoint", "unknown", "__dict__"])
def test_a_model_is_frozen(name: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(TARGET, name, "u")
    with pytest.raises(ValidationError, match="frozen"):
        delattr(TARGET, name)


def test_there_is_no_field_on_the_class() -> None:
    with pytest.raises(AttributeError):
        _ = Target.checkpoint
    assert list(Engine.model_fields) == ["name", "version"]
    assert Engine.model_fields["version"].text


def test_half_a_declaration_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match="takes an annotation and Field"):

        class Bare(StrictModel):
            size: int = 3

    with pytest.raises(TypeError, match="takes an annotation and Field"):

        class Untyped(StrictModel):
            size = Field()


def test_a_copy_with_changes_knows_what_was_given() -> None:
    changed = TARGET.model_copy(update={"head_dim": 4})
    assert (changed.checkpoint, changed.head_dim, TARGET.head_dim) == ("t", 4, None)
    assert changed.model_fields_set == {"checkpoint", "head_dim"}
    assert TARGET.model_fields_set == {"checkpoint"}


def test_what_was_not_given_can_be_left_out_of_the_data() -> None:
    whole = {"target": {"checkpoint": "t"}, "speculative": {"num_steps": 3}, "server": {"x": None}}
    deployment = Deployment.model_validate(whole)
    assert deployment.model_dump(exclude_unset=True) == whole
    assert deployment.model_dump(exclude={"target", "server"}, exclude_unset=True, exclude_none=True) == {
        "speculative": {"num_steps": 3}
    }
    assert deployment.model_dump(exclude_none=True)["server"] == {"x": None}
    dumped = deployment.model_dump()
    assert dumped["capture"] == {"layer_ids": None, "offset": None, "trained_boundaries": None}
    assert Deployment.model_validate(dumped) == deployment


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "deep", "pickle"],
)
def test_a_model_can_be_copied_and_stored(again: Any) -> None:
    deployment = Deployment.model_validate({"target": {"checkpoint": "t"}, "env": {"A": "1"}})
    record = TrainingRecord.model_validate({"version": 1, "boundaries": [1], "note": {"x": 1}})
    for model in (deployment, record):
        assert again(model) == model
        assert again(model) is not model
        assert again(model).model_fields_set == model.model_fields_set
        assert repr(again(model)) == repr(model)


def test_keys_that_are_kept_count() -> None:
    data = {"version": 1, "boundaries": [1]}
    record = TrainingRecord.model_validate(data | {"note": "x"})
    assert record != TrainingRecord.model_validate(data)
    assert repr(record).endswith("note='x')")
    assert record.boundaries == (1,)


def test_no_two_models_share_a_default_that_can_change() -> None:
    one, other = (Deployment.model_validate({"target": {"checkpoint": "t"}}) for _ in range(2))
    one.env["A"] = "1"
    assert other.env == {}


def test_models_within_models_are_taken_as_they_are() -> None:
    deployment = Deployment(target=TARGET, capture=Capture(offset=1))
    assert deployment.target is TARGET
    whole = {"version": 1, "engine": {"version": "1"}, "deployments": {"a": {"target": {"checkpoint": "t"}}}}
    assert ConfigFile.model_validate(whole).deployments == {"a": Deployment(target=TARGET)}


@pytest.mark.parametrize("kind", [set[int], bytes, tuple[int, int], type[int], "text"])
def test_an_annotation_without_a_meaning_here_is_refused_at_once(kind: Any) -> None:
    with pytest.raises(TypeError, match="no schema for fields of type"):
        schema_of(kind)
