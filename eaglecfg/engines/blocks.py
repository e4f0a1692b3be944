"""A deployment with every server flag in the block that is its own, wherever the file gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.numerals import whole
from eaglecfg.record import record, replace
from eaglecfg.schema.deployment import Deployment, Draft, Parallel, Speculative
from eaglecfg.schema.loaded import LoadedDeployment
from eaglecfg.source.span import KeyPath

BLOCKS: Mapping[str, tuple[str, str]] = {
    "model_path": ("target", "checkpoint"),
    "revision": ("target", "revision"),
    "speculative_draft_model_path": ("draft", "checkpoint"),
    "speculative_draft_model_revision": ("draft", "revision"),
    **{name: ("parallel", name) for name in Parallel.model_fields},
    **{f"speculative_{name}": ("speculative", name) for name in Speculative.model_fields},
}
"""Server flags that a block of the file has a key for -> that key."""

ALIASES: Mapping[str, str] = {
    "model": "model_path",
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
    "pipeline_parallel_size": "pp_size",
    "ep": "ep_size",
    "expert_parallel_size": "ep_size",
    "attention_data_parallel_size": "attn_dp_size",
    "speculative_draft_model": "speculative_draft_model_path",
}
"""Other names of these flags in every version read, for where the engine's facts are not at hand."""

_NUMBERS = frozenset(Parallel.model_fields) - {"enable_dp_attention"} | {
    "num_steps",
    "eagle_topk",
    "num_draft_tokens",
}


@record
class InBlocks:
    """``model`` as if each flag stood in its block; ``moved`` maps a path in it to the path as given.

    ``refused``: keys of a block whose flag holds a value that no such key can have. It stays under
    ``server`` then, and the block's key is absent.
    """

    model: Deployment
    moved: Mapping[KeyPath, KeyPath]
    refused: frozenset[KeyPath]


def canonical(name: str, facts: EngineFacts | None = None) -> str:
    """The flag behind a key under ``server``, by the facts of the version or else by the names that all
    have."""
    if facts is not None:
        return facts.flags.canonical(name)
    plain = name.lstrip("-").replace("-", "_")
    return ALIASES.get(plain, plain)


def in_blocks(deployment: Deployment, facts: EngineFacts | None = None) -> InBlocks:
    """``deployment`` with the flags under ``server`` that have a block of their own moved there.

    Of a setting that is given twice the one under ``server`` counts; a rule says that it is given twice.
    Flags about speculation stay where they are if speculation is off, or if nothing turns it on: a block
    would. What launches is the same before and after.
    """
    found: dict[str, str] = {}
    for name, value in deployment.server.items():
        flag = canonical(name, facts)
        if value is not None and flag in BLOCKS:
            found[flag] = name
    if not found:
        return InBlocks(deployment, {}, frozenset())
    speculates = deployment.speculative != "off" and bool(
        deployment.draft or deployment.speculative or "speculative_algorithm" in found
    )
    moved: dict[KeyPath, KeyPath] = {}
    refused: set[KeyPath] = set()
    given: dict[str, dict[str, Any]] = {}
    server = dict(deployment.server)
    for flag, name in sorted(found.items()):
        path, value = BLOCKS[flag], deployment.server[name]
        if flag.startswith("speculative_") and not speculates:
            continue
        if path == ("draft", "revision") and not (deployment.draft or "draft" in given):
            continue  # of the target's own draft layers: there is no block for those
        moved[path] = ("server", name)
        if (fit := _fit(path[1], value)) is None:
            refused.add(path)
            continue
        given.setdefault(path[0], {})[path[1]] = fit
        for other in [key for key in server if canonical(key, facts) == flag]:
            del server[other]
    update = {block: _with(getattr(deployment, block), block, values) for block, values in given.items()}
    return InBlocks(deployment.model_copy(update={**update, "server": server}), moved, frozenset(refused))


def loaded_in_blocks(deployment: LoadedDeployment, facts: EngineFacts | None = None) -> LoadedDeployment:
    """``deployment`` likewise; places of moved keys are those where the file gives them."""
    whole_model = in_blocks(deployment.model, facts)
    if not whole_model.moved:
        return deployment
    origin = dict(deployment.origin)
    for path, given in whole_model.moved.items():
        if given in deployment.origin:
            origin[path] = deployment.origin[given]
            origin.setdefault(path[:1], deployment.origin[given])
    refused = deployment.refused | whole_model.refused
    return replace(deployment, model=whole_model.model, origin=origin, refused=refused)


def _fit(key: str, value: Any) -> Any:
    """``value`` as the block holds it, None where no such key can have it."""
    if key in _NUMBERS:
        return whole(value)
    if key == "enable_dp_attention":
        return value if isinstance(value, bool) else None
    return value if isinstance(value, str) else None


def _with(block: Any, name: str, values: dict[str, Any]) -> Any:
    if name == "draft" and block is None:
        return Draft(**values)
    if name == "speculative" and block is None:
        block = Speculative()
    return block.model_copy(update=values)
