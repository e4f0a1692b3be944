"""What the names of a target's tensors say about the model that they were saved from."""

from __future__ import annotations

from collections.abc import Iterable

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import weighted, weights_unread

ROOTS = (
    "model.language_model.layers.", "language_model.model.layers.", "thinker.model.layers.", "model.layers.",
)  # fmt: skip
"""Where the text model's layers stand. Files of another naming say nothing here."""


def whole_target(context: Context) -> CheckpointFacts | None:
    """The target, where it is loaded from files whose tensor names are all known."""
    facts = dict(weighted(context)).get("target")
    if facts is None or facts.config is None or not facts.names or weights_unread(facts):
        return None
    return facts


def layers(names: Iterable[str]) -> frozenset[int]:
    """The indexes of the text model's layers that have tensors."""
    held: dict[str, set[int]] = {}
    for name in names:
        root = next((root for root in ROOTS if name.startswith(root)), None)
        if root is not None:
            index = name[len(root) :].partition(".")[0]
            if index.isdecimal():
                held.setdefault(root, set()).add(int(index))
    return frozenset(next((held[root] for root in ROOTS if root in held), ()))
