"""Studies of step cost alone: weights made up, acceptance simulated by the engine, nothing said about
answers.

What a verify step costs depends on shapes, kernels and NCCL, not on what is in the weights; so it can be
measured before there are any. What a shape of speculation is worth depends on how many drafts are accepted,
which nobody knows without them: such a study never chooses one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.errors import UsageError
from eaglecfg.schema.deployment import Deployment, Engine, Speculative
from eaglecfg.tune.arm import Arm, spelled
from eaglecfg.tune.trial import Block

FACT = "simulated_acceptance"
"""Name of the engine fact: the variables, the method that keeps the mean, and the flags of made-up
weights."""

TOLERANCE = 0.1
"""How far the accept length that a server reports may be from the simulated one, as a share: beyond, it did
not simulate. A step's length is drawn between the two whole numbers around it, some hundred times."""

SHAPE = ("speculative", "draft", "target")
"""Blocks whose choice rests on real acceptance."""


def require_switch(engine: Engine | None, facts: EngineFacts | None) -> Mapping[str, Any]:
    """The engine's own switch for simulated acceptance. Raises UsageError for an engine that has none."""
    found = facts.values.get(FACT) if facts is not None else None
    if not isinstance(found, Mapping):
        named = f"{engine.name} {engine.version}" if engine is not None else "no engine"
        raise UsageError(
            f"step_cost: expected an engine that can simulate acceptance, got {named}, of which that is "
            f"not known."
        )
    return found


def additions(switch: Mapping[str, Any], accept_length: float) -> tuple[tuple[str, ...], dict[str, str]]:
    """Flags and environment variables that make a server invent its weights and simulate acceptance."""
    flags = tuple(word for name, value in switch["dummy"].items() for word in (name, value))
    return flags, {
        switch["length"]: f"{accept_length:g}",
        switch["method"]: switch["expected"],
    }


def simulated(deployment: Deployment, accept_length: float) -> float | None:
    """The accept length that a server simulates: never more than a step can yield. None without
    speculation."""
    shape = deployment.speculative
    if not isinstance(shape, Speculative):
        return None
    return min(accept_length, shape.num_steps + 1.0) if shape.num_steps is not None else accept_length


def not_simulated(deployment: Deployment, accept_length: float, blocks: tuple[Block, ...]) -> str:
    """That a server did not do as it was told, in words; empty where it did, or where it does not say."""
    wanted = simulated(deployment, accept_length)
    steps = sum(block.verify_steps or 0 for block in blocks)
    if wanted is None or not steps:
        return ""
    seen = sum((block.accept_length or 0.0) * (block.verify_steps or 0) for block in blocks) / steps
    if abs(seen - wanted) <= TOLERANCE * wanted:
        return ""
    return f"acceptance was to be simulated at {wanted:.2f} tokens a step, the server reports {seen:.2f}"


def rests_on_acceptance(arm: Arm) -> tuple[str, ...]:
    """The changed keys of ``arm`` that only real acceptance could recommend."""
    return tuple(key for key in arm.changed if spelled(key)[0] in SHAPE)


def title(accept_length: float) -> str:
    """The words that stand above every result of such a study."""
    return (
        f"STEP COST ONLY: made-up weights, acceptance simulated at {accept_length:.2f} tokens a verify step. "
        f"Speeds are no forecast, answers are not checked, and no shape of speculation can be chosen from "
        f"this."
    )
