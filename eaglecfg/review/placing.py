"""Which block of a deployment each server flag belongs to, and in which order a launch tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.schema.deployment import Parallel, Speculative
from eaglecfg.source.span import KeyPath

MODEL, REVISION = "model_path", "revision"
DRAFT, DRAFT_REVISION = "speculative_draft_model_path", "speculative_draft_model_revision"
ALGORITHM = "speculative_algorithm"


def places(settings: Mapping[str, Any]) -> dict[str, KeyPath]:
    """Flag name -> its path inside a deployment, in the order of a launch.

    The draft and the shape of speculation have blocks only where an algorithm is given, since a draft without
    one is not run. A value that the block's key does not take stands under ``server``, where anything may.
    """
    found: dict[str, KeyPath] = {}

    def take(name: str, path: KeyPath, kind: type) -> None:
        if type(settings.get(name)) is kind:
            found[name] = path

    take(MODEL, ("target", "checkpoint"), str)
    if MODEL in found and settings.get(REVISION):  # an empty one is none to the schema's key
        take(REVISION, ("target", "revision"), str)
    for key, annotation in sorted(Parallel.__annotations__.items()):
        take(key, ("parallel", key), bool if "bool" in str(annotation) else int)
    if type(settings.get(ALGORITHM)) is str:
        take(DRAFT, ("draft", "checkpoint"), str)
        if DRAFT in found and settings.get(DRAFT_REVISION):
            take(DRAFT_REVISION, ("draft", "revision"), str)
        take(ALGORITHM, ("speculative", "algorithm"), str)
        for key in sorted(set(Speculative.__annotations__) - {"algorithm"}):
            take(f"speculative_{key}", ("speculative", key), int)
    rest = {name: ("server", name) for name in settings if name not in found}
    return {**found, **rest}
