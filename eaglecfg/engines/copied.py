"""Variables that the engine copies to another name before it reads any: names of earlier releases."""

from __future__ import annotations

from collections.abc import Mapping

from eaglecfg.engines.command import handed_on
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.record import replace
from eaglecfg.schema.loaded import LoadedDeployment


def copies(facts: EngineFacts, env: Mapping[str, str]) -> Mapping[str, str]:
    """New name -> old name, of the variables of ``env`` that this version copies.

    The copy wins over a value that the new name has of its own, in every version read.
    """
    rule = facts.values.get("copied_variables")
    if rule is None:
        return {}
    begins, becomes = rule["prefix"]
    # The engine goes over the renamed ones first, so that a name that begins anew wins over these.
    found = {new: old for old, new in rule["names"].items() if old in env}
    found |= {becomes + name.removeprefix(begins): name for name in env if name.startswith(begins)}
    return found


def as_read(facts: EngineFacts, env: Mapping[str, str]) -> dict[str, str]:
    """``env`` with the copies in place; one that is handed on from whoever launches is handed on here too."""
    out = dict(env)
    for new, old in copies(facts, env).items():
        out[new] = handed_on(new) if env[old] == handed_on(old) else env[old]
    return out


def with_copies(
    deployment: LoadedDeployment, facts: EngineFacts | None
) -> tuple[LoadedDeployment, Mapping[str, str]]:
    """``deployment`` with the copies in its environment, whose places are those of the old names, and which
    copies these are (new name -> old name)."""
    env = deployment.model.env
    found = copies(facts, env) if facts is not None and env else {}
    if not found:
        return deployment, {}
    assert facts is not None
    origin = dict(deployment.origin)
    for new, old in found.items():
        origin[("env", new)] = deployment.document_path(("env", old))
    model = deployment.model.model_copy(update={"env": as_read(facts, env)})
    return replace(deployment, model=model, origin=origin), found
