"""Null: what a deployment says of a setting that ``defaults`` gives and that it does not want."""

from __future__ import annotations

from typing import Any

from eaglecfg.schema.base import StrictModel
from eaglecfg.schema.core import REQUIRED
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.fields import fields_of
from eaglecfg.source.span import KeyPath

VARIABLES = ("nccl", "env")
"""Blocks of which every key may be null. Those of ``server`` may be as well: there it is the engine's own
value for a flag that is not given."""


def null_means_absent(model: type[StrictModel], key: str) -> bool:
    """Whether ``key: null`` is the same as no such key: one that has to be there cannot be absent."""
    spec = model.model_fields.get(key)
    return spec is not None and spec.default is not REQUIRED


def may_be_null(path: KeyPath) -> bool:
    """Whether null at ``path`` inside a deployment says that nothing is there: of a key, or a whole block."""
    block, *below = map(str, path)
    if not below:
        return null_means_absent(Deployment, block)
    if len(below) > 1:
        return False
    if block in (*VARIABLES, "server"):
        return True
    field = fields_of(Deployment).get(block)
    return field is not None and field.model is not None and null_means_absent(field.model, below[0])


def without_nulls(data: dict[str, Any]) -> frozenset[KeyPath]:
    """Take the nulls out of the data of a deployment that mean no such key; their paths.

    What stands below a flag is a value of the engine's, whose nulls stay. So does the null of a key that has
    to be there, or that nothing knows: the schema refuses it.
    """
    gone: set[KeyPath] = set()
    for key, value in list(data.items()):
        if value is None and null_means_absent(Deployment, key):
            del data[key]
            gone.add((key,))
        elif isinstance(value, dict):
            for name in [name for name, inner in value.items() if inner is None and may_be_null((key, name))]:
                gone.add((key, name))
                if key != "server":
                    del value[name]
    return frozenset(gone)
