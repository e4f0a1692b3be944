"""Where a tensor of a draft's files goes, by its name alone: what the draft class makes of each spelling."""

from __future__ import annotations

from collections.abc import Collection

from eaglecfg.engines.facts import DraftFact

LAYER, HEAD = "layers.0.", "lm_head."
_MAPS = ("d2t", "t2d")
_OF_LAYER = (LAYER, "midlayer.")


def place_of(fact: DraftFact, name: str) -> str | None:
    """The place that the class looks up for the tensor ``name`` of a file, None where it finds none.

    Places are spelled without the class's own prefix and with ``layers.0.`` for the first layer; vocabulary
    maps are ``d2t`` and ``t2d``. Whether something is built at the place the name does not tell.
    """
    for leaf in _MAPS:
        if leaf in name if fact.maps == "anywhere" else name.rpartition(".")[2] == leaf:
            return leaf
    # Only what lies under the class's inner model is looked for with its prefix; the head lies beside it.
    if name.startswith(HEAD):
        return name
    inner = name.removeprefix(fact.outer)
    if inner.startswith(HEAD):
        return None
    for prefix in fact.prefixes:
        if inner.startswith(prefix):
            return LAYER + inner.removeprefix(prefix)
    return None if inner.startswith(_OF_LAYER) else inner


def wrapped(fact: DraftFact, name: str, names: Collection[str]) -> bool:
    """Whether what comes before the last two parts of ``name`` comes before every tensor and hides it."""
    prefix = ".".join(name.split(".")[:-2]) + "."
    final = f"{prefix}norm.weight"
    return (
        final in names
        and place_of(fact, final) != "norm.weight"
        and reaching(fact, "norm.weight", names) is None
    )


def reaching(fact: DraftFact, place: str, names: Collection[str]) -> str | None:
    """The name, of those in ``names``, that the class loads at ``place``; None where none does."""
    return next((name for name in sorted(names) if place_of(fact, name) == place), None)
