"""What the names of a target's tensors say about the model that they were saved from."""

from __future__ import annotations

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
