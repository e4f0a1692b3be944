"""How the engine reads the capture request out of the two config files, and which class is to serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from eaglecfg.checkpoint.config import ModelConfig, length
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.record import record

if TYPE_CHECKING:
    from eaglecfg.engines.resolve import Resolution

IMPLEMENTATION = "model_impl"
IDS_KEY = "eagle_aux_hidden_state_layer_ids"
CONFIG_KEY = "eagle_config"

IdsFrom = Literal["eagle_config", "none", "unreadable"]


@record
class CaptureRequest:
    """What the target is asked to capture.

    ``ids`` None: the class default. ``came_from``: the ``eagle_config`` object; ``none``, it has no ids; or
    ``unreadable``, it is no object. ``captures`` false: switched off. ``broken``: the setter raises on these
    ids.
    """

    ids: tuple[int, ...] | None
    came_from: IdsFrom
    captures: bool = True
    broken: bool = False
    reason: str = ""


def read_request(draft: ModelConfig, *, honours_use_aux: bool) -> CaptureRequest:
    """The request as the target's side reads it: only ``eagle_config`` counts, top-level ids do not."""
    if CONFIG_KEY not in draft.raw:
        reason = f"{draft.file} has no {CONFIG_KEY}"
        if IDS_KEY in draft.raw:
            reason += f", and {IDS_KEY} at the top level chooses no layers"
        return CaptureRequest(None, "none", reason=f"{reason}: the target captures its default layers")
    found = draft.raw[CONFIG_KEY]
    if not isinstance(found, dict):
        return CaptureRequest(
            None,
            "unreadable",
            reason=f"{CONFIG_KEY} in {draft.file} is not an object: the target captures its default layers",
        )
    if honours_use_aux and not found.get("use_aux_hidden_state", True):
        return CaptureRequest(
            None,
            "eagle_config",
            captures=False,
            reason="use_aux_hidden_state is false: the draft is fed the target's last hidden state",
        )
    if found.get(IDS_KEY) is None:
        return CaptureRequest(
            None, "none", reason=f"{CONFIG_KEY} names no {IDS_KEY}: the target captures its default layers"
        )
    return _given(found[IDS_KEY])


MOST_IDS = 10_000
"""Ids of one list. A target has a few hundred layers at most, so a longer list cannot be meant."""


def _given(ids: Any) -> CaptureRequest:
    if isinstance(ids, list) and len(ids) > MOST_IDS:
        reason = f"{CONFIG_KEY}.{IDS_KEY} lists {len(ids):,} ids: no target has as many layers"
        return CaptureRequest(None, "eagle_config", broken=True, reason=reason)
    if isinstance(ids, list) and all(isinstance(one, int) for one in ids):
        return CaptureRequest(tuple(int(one) for one in ids), "eagle_config")
    return CaptureRequest(
        None,
        "eagle_config",
        broken=True,
        reason=f"{CONFIG_KEY}.{IDS_KEY} is no list of whole numbers: the target's setter fails on it",
    )


def layer_count(target: ModelConfig, depth: str) -> int | None:
    """n as the class reads it.

    ``depth`` ``top``: at the top level where it stands there, else in the text config.
    """
    if depth == "top":
        found = target.top("num_hidden_layers")
        if found is not None and found.value is not None:
            return length(found.value)
    return target.integer("num_hidden_layers")


def wrapping_class(facts: EngineFacts, resolution: Resolution | None) -> str | None:
    """The class that ``model_impl`` puts in the place of the target's own; None where it does not.

    The engine compares the flag as it is written: another case of letters asks for nothing.
    """
    asked = resolution.asked(IMPLEMENTATION) if resolution is not None else None
    found = facts.values["model_impls"].get(asked) if isinstance(asked, str) else None
    return None if found is None else str(found)


def running_class(facts: EngineFacts, target: ModelConfig, resolution: Resolution | None) -> str | None:
    """The class whose code runs the target, None where its config.json names none."""
    own = target.architecture
    return None if own is None else wrapping_class(facts, resolution) or own
