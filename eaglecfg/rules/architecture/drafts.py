"""What kind of draft the files hold, and what kind of draft the deployment asks for."""

from __future__ import annotations

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import tensor_line
from eaglecfg.rules.model import Evidence
from eaglecfg.rules.versions import all_versions
from eaglecfg.schema.deployment import Speculative

PREFIXES = ("", "model.")
MARKS = ("midlayer.hidden_norm.weight", "layers.0.hidden_norm.weight", "d2t")
"""Besides a wide fc, tensors that only EAGLE-3 drafts have: the state's norm, the vocabulary map."""


def algorithm(context: Context) -> str | None:
    """The algorithm as given; EAGLE3 where only a draft is given; None without speculation."""
    chosen = context.model.speculative
    if chosen == "off" or context.refused("speculative", "algorithm") or context.only_captures:
        return None
    if isinstance(chosen, Speculative):
        return chosen.algorithm
    return "EAGLE3" if context.model.draft is not None else None


def runs_eagle3(context: Context) -> bool:
    """Whether the deployment asks for EAGLE-3, in any case of letters."""
    chosen = algorithm(context)
    return chosen is not None and chosen.upper() == "EAGLE3"


def model_package(context: Context) -> str:
    """The package whose classes take the place of the engine's own of the same name; empty without one.

    Raises ValueFromLaunch where whoever launches names it.
    """
    assert context.engine is not None
    name = context.engine.values.get("model_package")
    return "" if name is None else context.variable(name) or ""


def from_package(context: Context, package: str, name: str) -> str:
    """Why nothing can be said of the class ``name``."""
    assert context.engine is not None
    return f"{context.engine.values['model_package']} loads {package}, which may bring a {name} of its own"


def tensor(draft: CheckpointFacts, name: str) -> TensorFact | None:
    """The tensor ``name``, with or without the leading ``model.``."""
    return next((draft.tensors[p + name] for p in PREFIXES if p + name in draft.tensors), None)


def marks(draft: CheckpointFacts) -> tuple[TensorFact, ...]:
    """Tensors which show that the files hold an EAGLE-3 draft: fc of three or more widths, and one mark."""
    fusion = tensor(draft, "fc.weight")
    if fusion is None or len(fusion.shape) != 2:
        return ()
    found = tuple(mark for name in MARKS if (mark := tensor(draft, name)) is not None)
    wide = fusion.shape[1] > 2 * fusion.shape[0]
    return (fusion, *found) if found and (wide or len(found) > 1) else ()


def mark_lines(draft: CheckpointFacts) -> tuple[Evidence, ...]:
    """The marks of an EAGLE-3 draft as evidence."""
    return tuple(tensor_line(mark) for mark in marks(draft))


def eagle3_classes(context: Context) -> dict[str, str]:
    """EAGLE-3 draft class -> the first version of the engine that builds it, over all known versions."""
    assert context.engine is not None
    out: dict[str, str] = {}
    for facts in all_versions(context.engine):
        for name in facts.drafts:
            out.setdefault(name, facts.version)
    return out
