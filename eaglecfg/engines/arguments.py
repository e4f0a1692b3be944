"""The server arguments of a deployment, flat and under the engine's own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.blocks import canonical, in_blocks
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.record import record
from eaglecfg.schema.deployment import Deployment, Draft, Target
from eaglecfg.source.span import KeyPath


@record
class Argument:
    """A value that the deployment gives for one server flag. ``path`` is where, inside the deployment."""

    name: str
    value: Any
    path: KeyPath


def arguments(deployment: Deployment, facts: EngineFacts | None = None) -> Mapping[str, Argument]:
    """Every server argument that ``deployment`` gives, by flag name with underscores.

    Where a flag stands makes no difference: under ``server`` or in a block of its own, by its name, an alias
    or a beginning that the engine completes (where ``facts`` know these). ``speculative`` keys get their
    ``speculative_`` names; checkpoints become ``model_path`` and ``speculative_draft_model_path``. A key that
    is not given is absent, and so is everything about the draft where speculation is off.
    """
    out: dict[str, Argument] = {}
    whole = in_blocks(deployment, facts)
    model = whole.model

    def give(name: str, value: Any, *path: str) -> None:
        if value is not None:
            out[name] = Argument(name, value, whole.moved.get(path, path))

    def give_model(one: Target | Draft, path: str, revision: str, side: str) -> None:
        name, inline = one.checkpoint, None
        if "@" in name:  # engines know no org/name@revision, so the revision travels as its own argument
            from eaglecfg.checkpoint.hubid import hub_id

            named = hub_id(name)
            name, inline = (named.repo, named.inline) if named is not None else (name, None)
        give(path, name, side, "checkpoint")
        give(revision, one.revision or inline, side, "revision" if one.revision else "checkpoint")

    give_model(model.target, "model_path", "revision", "target")
    for name in sorted(model.parallel.model_fields_set):
        give(name, getattr(model.parallel, name), "parallel", name)
    if model.speculative != "off" and (model.draft or model.speculative):
        if model.draft is not None:
            flags = "speculative_draft_model_path", "speculative_draft_model_revision"
            give_model(model.draft, *flags, "draft")
        shape = model.speculative
        # A draft without a ``speculative`` block runs EAGLE3, which the engine has to be told.
        give("speculative_algorithm", shape.algorithm if shape else "EAGLE3", "speculative", "algorithm")
        for name in sorted(shape.model_fields_set - {"algorithm"}) if shape else ():
            give(f"speculative_{name}", getattr(shape, name), "speculative", name)
    for name, value in model.server.items():
        give(canonical(name, facts), value, "server", name)
    return out
