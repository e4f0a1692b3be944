"""The server arguments of a deployment, flat and under the engine's own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

    ``parallel`` and ``server`` keys keep their names; ``speculative`` keys get their ``speculative_`` names;
    checkpoints become ``model_path`` and ``speculative_draft_model_path``. A key that is not given is absent,
    and so is everything about the draft where speculation is off. Aliases get the flag's own name where
    ``facts`` know it.
    """
    out: dict[str, Argument] = {}

    def give(name: str, value: Any, *path: str) -> None:
        if value is not None:
            out[name] = Argument(name, value, path)

    def give_model(model: Target | Draft, path: str, revision: str, side: str) -> None:
        name, inline = model.checkpoint, None
        if "@" in name:  # engines know no org/name@revision, so the revision travels as its own argument
            from eaglecfg.checkpoint.hubid import hub_id

            named = hub_id(name)
            name, inline = (named.repo, named.inline) if named is not None else (name, None)
        give(path, name, side, "checkpoint")
        give(revision, model.revision or inline, side, "revision" if model.revision else "checkpoint")

    give_model(deployment.target, "model_path", "revision", "target")
    for name in sorted(deployment.parallel.model_fields_set):
        give(name, getattr(deployment.parallel, name), "parallel", name)
    if deployment.speculative != "off" and (deployment.draft or deployment.speculative):
        if deployment.draft is not None:
            flags = "speculative_draft_model_path", "speculative_draft_model_revision"
            give_model(deployment.draft, *flags, "draft")
        shape = deployment.speculative
        # A draft without a ``speculative`` block runs EAGLE3, which the engine has to be told.
        give("speculative_algorithm", shape.algorithm if shape else "EAGLE3", "speculative", "algorithm")
        for name in sorted(shape.model_fields_set - {"algorithm"}) if shape else ():
            give(f"speculative_{name}", getattr(shape, name), "speculative", name)
    for name, value in deployment.server.items():
        flag = name.replace("-", "_") if facts is None else facts.flags.canonical(name)
        give(flag, value, "server", name)
    return out
