"""JSON Schemas of the files that users write, for editors and for other checkers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from eaglecfg.schema.base import StrictModel
from eaglecfg.schema.deployment import ConfigFile, Deployment, Parallel, Speculative
from eaglecfg.schema.fields import fields_of, null_means_absent
from eaglecfg.schema.load_study import EMPTY_BLOCKS as EMPTY_IN_STUDIES
from eaglecfg.schema.nccl_block import nccl_block
from eaglecfg.schema.once import once
from eaglecfg.schema.server_block import server_block
from eaglecfg.schema.study import StudyFile
from eaglecfg.schema.training import TrainingRecord

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What editors' YAML servers support without gaps."""

_TEXT_TYPES = ["string", "number", "boolean"]
"""What ``nccl_version: 2.28`` or ``NCCL_DEBUG: true`` is to a checker that has no source text."""

_NULL = {"type": "null"}

Schema = dict[str, Any]


def json_schemas() -> dict[str, Schema]:
    """File name -> JSON Schema (draft 7) of eaglecfg.yaml, of a study file and of a training record."""
    config = _with_defaults(_with_blocks(_schema(ConfigFile, "eaglecfg.schema.json", "eaglecfg.yaml")))
    study = _with_empty_blocks(_schema(StudyFile, "study.schema.json", "eaglecfg study"))
    training = _schema(TrainingRecord, "eaglecfg-training.schema.json", "eaglecfg-training.json")
    return {
        "eaglecfg.schema.json": once(config),
        "study.schema.json": once(study),
        "eaglecfg-training.schema.json": once(training),
    }


class _Described(GenerateJsonSchema):
    """pydantic's JSON Schemas, with what our models say of themselves and of their fields.

    ``models`` are those that came up; pydantic would sort the keys of examples.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.models: list[type[StrictModel]] = []

    def model_schema(self, schema: ModelSchema) -> Schema:
        model = schema["cls"]
        assert issubclass(model, StrictModel)
        self.models.append(model)
        out = self.generate_inner(schema["schema"])
        out["description"] = model.__doc__
        out["additionalProperties"] = model.model_unknown == "allow"
        for name, field in model.model_fields.items():
            out["properties"][name]["description"] = field.description
            if field.text:
                _allow_numbers(out["properties"][name])
        return out

    def encode_default(self, dft: Any) -> Any:
        return dft.model_dump() if isinstance(dft, StrictModel) else dft


def _schema(model: type[StrictModel], name: str, title: str) -> Schema:
    described = _Described(ref_template="#/definitions/{model}")
    schema = described.generate(model.core_schema())
    if "$defs" in schema:
        schema["definitions"] = schema.pop("$defs")
    _everywhere(schema, _plain)
    for each in described.models:
        part = schema if each is model else schema["definitions"][each.__name__]
        for key, field in each.model_fields.items():
            if field.examples:
                part["properties"][key]["examples"] = list(field.examples)
    schema.pop("title", None)
    if model is ConfigFile:
        _or_null(schema["properties"]["suppress"])
    return {"$schema": DRAFT, "$id": f"urn:eaglecfg:{name}", "title": title, **schema}


def _everywhere(schema: Any, change: Callable[[Schema], None]) -> None:
    if isinstance(schema, dict):
        for value in schema.values():
            _everywhere(value, change)
        change(schema)
    elif isinstance(schema, list):
        for value in schema:
            _everywhere(value, change)


def _plain(schema: Schema) -> None:
    """Bring one part of a schema from pydantic's dialect to draft 7, without names that only we know."""
    schema.pop("discriminator", None)
    if isinstance(schema.get("title"), str):
        schema.pop("title")
    if isinstance(schema.get("default"), dict):
        del schema["default"]  # the default of a block is what its keys default to
    if "$ref" in schema and len(schema) > 1:
        # Draft 7 ignores what stands beside $ref.
        schema["allOf"] = [{"$ref": schema.pop("$ref")}]
    # null means the same as no such key, which is how a model spells it as well.
    if schema.get("default", 0) is None and _NULL in schema.get("anyOf", ()):
        del schema["default"]


def _allow_numbers(schema: Schema) -> None:
    if schema.get("type") == "string" and "const" not in schema:
        schema["type"] = list(_TEXT_TYPES)
    for inner in (schema.get("additionalProperties"), schema.get("items")):
        if isinstance(inner, dict):
            _allow_numbers(inner)
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        _allow_numbers(option)


def _with_blocks(schema: Schema) -> Schema:
    """Describe NCCL's variables and the engine's flags one by one, as the facts have them."""
    definitions = schema["definitions"]
    block = definitions["Deployment"]["properties"]
    for key, about, made in (
        ("nccl", "NCCL's variables without the prefix; what each version takes is checked.", _nccl()),
        ("server", "The engine's flags, as the newest version that was read has them.", _server()),
    ):
        name = key.capitalize()
        definitions[name] = {"description": about, **made}
        block[key] = {"allOf": [_ref(name)], **_told(block[key])}
    return _with_nulls(schema)


def _with_nulls(schema: Schema) -> Schema:
    """Null where it means that a deployment does not want what ``defaults`` gives."""
    definitions = schema["definitions"]
    for name, model in (("Deployment", Deployment), *_blocks_of(Deployment)):
        for key, value in definitions[name]["properties"].items():
            if null_means_absent(model, key):
                _or_null(value)
    nccl = definitions["Nccl"]
    env = definitions["Deployment"]["properties"]["env"]
    for value in (*nccl["properties"].values(), nccl["additionalProperties"], env["additionalProperties"]):
        _or_null(value)
    return schema


def _blocks_of(model: type[StrictModel]) -> Iterator[tuple[str, type[StrictModel]]]:
    for kind in fields_of(model).values():
        if kind.model is not None and not kind.named:
            yield kind.model.__name__, kind.model


def _with_empty_blocks(schema: Schema) -> Schema:
    for *around, key in EMPTY_IN_STUDIES:
        block = schema["definitions"][around[0].capitalize()] if around else schema
        _or_null(block["properties"][key])
    return schema


def _nccl() -> Schema:
    return nccl_block(list(_TEXT_TYPES))


def _server() -> Schema:
    shape = {f"speculative_{name}" for name in Speculative.model_fields}
    models = {"model_path", "revision", "speculative_draft_model_path", "speculative_draft_model_revision"}
    return server_block({*Parallel.model_fields, *shape, *models})


def _or_null(block: Schema) -> None:
    """``parallel:``, ``suppress:`` or a key with nothing behind it means the same as no such key."""
    if "allOf" in block:
        block["anyOf"] = [*block.pop("allOf"), _NULL]
    elif "anyOf" in block or "oneOf" in block:
        options = block["anyOf" if "anyOf" in block else "oneOf"]
        if _NULL not in options:
            options.append(dict(_NULL))
    elif "enum" in block:
        block["enum"] = [*block["enum"], None]
    else:
        given = block["type"]
        block["type"] = [*([given] if isinstance(given, str) else given), "null"]


def _with_defaults(schema: Schema) -> Schema:
    """Describe what stands under ``defaults:``: a deployment in which nothing is required.

    Where a file has defaults its deployments may leave out what they need as well; where it has none, a
    condition asks for it, and says nothing else, so that no fault is found twice.
    """
    definitions, properties = schema["definitions"], schema["properties"]
    deployment = definitions["Deployment"]
    needed: Schema = {"required": deployment.pop("required"), "properties": {}}
    for name in ("Target", "Draft"):
        needed["properties"][name.lower()] = {"required": definitions[name].pop("required")}
    properties["defaults"] = {"anyOf": [_ref("Deployment"), _NULL], **_told(properties["defaults"])}
    properties["deployments"]["minProperties"] = 1
    whole = {"properties": {"deployments": {"additionalProperties": needed}}}
    return {**schema, "if": {"not": {"required": ["defaults"]}}, "then": whole}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _told(schema: Schema) -> Schema:
    """What a key says of itself to people."""
    return {key: schema[key] for key in ("description", "examples") if key in schema}
