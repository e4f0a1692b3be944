"""What the names of a target's tensors say about the model that they were saved from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import weighted, weights_unread

ROOTS = (
    "model.language_model.layers.", "language_model.model.layers.", "thinker.model.layers.", "model.layers.",
)  # fmt: skip
"""Where the text model's layers stand. Files of another naming say nothing here."""

HEADS = ("lm_head", "output.", "embed_out")
"""How the heads of text models are spelled."""

ALSO_LAYERS = ("nextn", "mtp")
"""Parts of keys that announce layers for prediction of several tokens, numbered after the others."""


def whole_target(context: Context) -> tuple[ModelConfig, frozenset[str]] | None:
    """Config and tensor names of a target that is loaded from files whose names are all known."""
    facts = dict(weighted(context)).get("target")
    if facts is None or facts.config is None or not facts.names or weights_unread(facts):
        return None
    return facts.config, facts.names


@lru_cache(maxsize=16)
def layers(names: frozenset[str]) -> frozenset[int]:
    """The indexes of the text model's layers that have tensors. Many deployments share a target, whose names
    may be a hundred thousand."""
    held: dict[str, set[str]] = {root: set() for root in ROOTS}
    for name in names:
        before, mark, after = name.partition("layers.")
        found = held.get(before + mark)
        if found is not None:
            found.add(after.partition(".")[0])
    indexes = next((found for found in held.values() if found), set())
    return frozenset(int(index) for index in indexes if index.isdecimal())


@lru_cache(maxsize=16)
def has_head(names: frozenset[str]) -> bool:
    """Whether one of the tensors is the head of the text model."""
    return any(head in name for name in names for head in HEADS)


def announced(config: ModelConfig) -> bool:
    """Whether the config speaks of layers that predict several tokens, numbered after the others."""
    return any(part in key.lower() for key in _keys(config) for part in ALSO_LAYERS)


def _keys(config: ModelConfig) -> Iterator[str]:
    yield from config.raw
    for value in config.raw.values():
        if isinstance(value, dict):
            yield from (str(key) for key in value)


def too_far(context: Context, count: int) -> int:
    """The last boundary that the draft asks for or was trained on, if beyond ``count`` layers, or 0."""
    found = context.boundaries
    asked = found.shifted if found is not None and found.ids else ()
    last = max((*asked, *(context.trained or ())), default=0)
    lost = found is not None and found.ids is not None and found.outcome not in ("captured", "nothing")
    return last if last > count or (last == count and lost) else 0


def miscounted(context: Context) -> bool:
    """Whether the target's config counts too few layers for the draft, and its files hold enough."""
    whole = whole_target(context)
    count = whole[0].integer("num_hidden_layers") if whole is not None else None
    if whole is None or count is None or announced(whole[0]):
        return False
    depth = max(layers(whole[1]), default=-1) + 1
    return count < depth and 0 < too_far(context, count) <= depth
