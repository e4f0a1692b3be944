"""JSON Schemas of the files that users write, for editors and for other checkers."""

from __future__ import annotations

from copy import deepcopy
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from eaglecfg.schema.base import REQUIRED, FieldSpec, StrictModel, model_fields
from eaglecfg.schema.deployment import ConfigFile
from eaglecfg.schema.nccl_block import nccl_block
from eaglecfg.schema.study import StudyFile
from eaglecfg.schema.training import TrainingRecord

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What editors' YAML servers support without gaps."""

_TEXT_TYPES = ["string", "number", "boolean"]
"""What ``nccl_version: 2.28`` or ``NCCL_DEBUG: true`` is to a checker that has no source text."""

_JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
_MOST_OPTIONS = 5
"""A union of more members takes every scalar, null among them."""

Schema = dict[str, Any]


def json_schemas() -> dict[str, Schema]:
    """File name -> JSON Schema (draft 7) of eaglecfg.yaml, of a study file and of a training record."""
    return {
        "eaglecfg.schema.json": _with_defaults(
            _with_nccl(_schema(ConfigFile, "eaglecfg.schema.json", "eaglecfg.yaml"))
        ),
        "study.schema.json": _schema(StudyFile, "study.schema.json", "eaglecfg study"),
        "eaglecfg-training.schema.json": _schema(
            TrainingRecord, "eaglecfg-training.schema.json", "eaglecfg-training.json"
        ),
    }


def _schema(model: type[StrictModel], name: str, title: str) -> Schema:
    definitions: dict[str, Schema] = {}
    schema = {"$schema": DRAFT, "$id": f"urn:eaglecfg:{name}", "title": title, **_object(model, definitions)}
    return schema | ({"definitions": definitions} if definitions else {})


def _object(model: type[StrictModel], definitions: dict[str, Schema]) -> Schema:
    fields = model_fields(model)
    schema: Schema = {
        "type": "object",
        "description": cleandoc(model.__doc__ or ""),
        "properties": {name: _field(spec, definitions) for name, spec in fields.items()},
        "additionalProperties": model.model_open,
    }
    required = [name for name, spec in fields.items() if spec.default is REQUIRED]
    return schema | ({"required": required} if required else {})


def _field(spec: FieldSpec, definitions: dict[str, Schema]) -> Schema:
    schema = _kind(spec.kind, definitions)
    if spec.text:
        _allow_numbers(schema)
    if spec.min_length:
        schema["minItems"] = spec.min_length
    if "$ref" in schema:
        schema = {"allOf": [schema]}  # draft 7 ignores what stands beside $ref
    # The default of a block is what its keys default to.
    if spec.default not in (REQUIRED, None) and not isinstance(spec.default, StrictModel | dict):
        schema["default"] = spec.default
    return schema | {"description": spec.description}


def _kind(kind: Any, definitions: dict[str, Schema]) -> Schema:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if kind in _JSON_TYPES:
        return {"type": _JSON_TYPES[kind]}
    if origin is Annotated:
        return _kind(parts[0], definitions) | {"exclusiveMinimum": parts[1].bound}
    if origin is Literal:
        choices = {"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)}
        return choices | {"type": _JSON_TYPES[type(parts[0])]}
    if origin in (list, tuple):
        return {"type": "array", "items": _kind(parts[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _kind(parts[1], definitions) or True}
    if origin in (Union, UnionType):
        # null is how a model says "absent"; in a file the key is left out, unless it may hold anything.
        kept = parts if len(parts) > _MOST_OPTIONS else [part for part in parts if part is not NoneType]
        options = [_kind(part, definitions) for part in kept]
        return options[0] if len(options) == 1 else {"anyOf": options}
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # keeps the order in which they are met
        definitions[kind.__name__] = _object(kind, definitions)
    return _ref(kind.__name__)


def _allow_numbers(schema: Schema) -> None:
    if schema.get("type") == "string" and "const" not in schema:
        schema["type"] = list(_TEXT_TYPES)
    for inner in (schema.get("additionalProperties"), schema.get("items"), *schema.get("anyOf", ())):
        if isinstance(inner, dict):
            _allow_numbers(inner)


def _with_nccl(schema: Schema) -> Schema:
    """Describe NCCL's variables one by one, as its facts have them."""
    definitions = schema["definitions"]
    definitions["Nccl"] = nccl_block(list(_TEXT_TYPES))
    block = definitions["Deployment"]["properties"]
    block["nccl"] = {"allOf": [_ref("Nccl")], "description": block["nccl"]["description"]}
    return schema


def _with_defaults(schema: Schema) -> Schema:
    """Describe what stands under ``defaults:``: a deployment in which nothing is required.

    Where a file has defaults its deployments may leave out what they need as well.
    """
    definitions, properties = schema["definitions"], schema["properties"]
    for name in ("Target", "Draft", "Deployment"):
        part = deepcopy(definitions[name])
        part.pop("required", None)
        definitions[f"{name}Defaults"] = part
    within = definitions["DeploymentDefaults"]["properties"]
    within["target"]["allOf"] = [_ref("TargetDefaults")]
    # A deployment without the draft that the defaults name says null.
    del within["draft"]["allOf"]
    within["draft"]["anyOf"] = [_ref("DraftDefaults"), {"type": "null"}]
    description = properties["defaults"]["description"]
    properties["defaults"] = {"allOf": [_ref("DeploymentDefaults")], "description": description}
    properties["deployments"]["additionalProperties"] = _ref("DeploymentDefaults")
    whole = {"properties": {"deployments": {"additionalProperties": _ref("Deployment")}}}
    return {**schema, "if": {"not": {"required": ["defaults"]}}, "then": whole}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}
