"""Tensors of another size than the config asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eaglecfg.engines.config_classes import head_width, key_value_heads
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import OPTIONAL_NORMS, Pair, pairs, wiring
from eaglecfg.rules.shapes.joined import wrongly_joined
from eaglecfg.rules.shapes.tensors import (
    draft_config,
    left_by,
    left_to_the_class,
    width_is_misstated,
)

SIZED_BY: Mapping[tuple[str, int], str] = {
    ("self_attn.q_proj.weight", 0): "num_attention_heads",
    ("self_attn.o_proj.weight", 1): "num_attention_heads",
    ("self_attn.k_proj.weight", 0): "num_key_value_heads",
    ("self_attn.v_proj.weight", 0): "num_key_value_heads",
    ("mlp.gate_proj.weight", 0): "intermediate_size",
    ("mlp.up_proj.weight", 0): "intermediate_size",
    ("mlp.down_proj.weight", 1): "intermediate_size",
}
"""(tensor in its layer, dimension) -> the key of config.json that sizes it. Anything else goes by
hidden_size."""

OTHERWISE = ", or take weights and config from one training run"

INNER = frozenset(
    {"q_a_proj", "kv_a_proj_with_mqa", "q_b_proj", "kv_b_proj", "q_a_layernorm", "kv_a_layernorm"}
)
"""Parts of latent attention, sized by several keys at once."""


def check(ctx: Context) -> Iterator[Item]:
    """Every tensor must have the shape that the class builds from the config."""
    built = wiring(ctx)
    if built is None:
        yield NotApplicable()
        return
    if built.fact.family == "llama":
        unknown = [
            key
            for key, size in (("num_key_value_heads", built.kv_heads), ("head_dim", built.head_dim))
            if size is None
        ]
        absent = left_to_the_class(draft_config(ctx), "num_attention_heads", _mlp_key(ctx), *unknown)
        if absent is not None:
            yield absent
    causes: dict[str, list[tuple[Pair, int]]] = {}
    for pair in pairs(ctx, built):
        if pair.expected.part in ("fc", "head", "embedding", "map") or pair.expected.strictness == "ignored":
            continue
        dimension = pair.differs if not pair.name.startswith(OPTIONAL_NORMS) else None
        if dimension is not None and not _first_layer(ctx, pair, dimension):
            causes.setdefault(_cause(ctx, pair, dimension), []).append((pair, dimension))
    if width_is_misstated(ctx):
        causes.pop("hidden_size", None)  # the rule about the width of a state says so
    for key, found in causes.items():
        yield _finding(ctx, key, found)
    yield from wrongly_joined(ctx, built)


def _first_layer(ctx: Context, pair: Pair, dimension: int) -> bool:
    """Whether this is the one-width first layer that a rule of its own reports."""
    assert pair.found is not None
    hidden = draft_config(ctx).integer("hidden_size")
    reads = ("q_proj", "k_proj", "v_proj", "q_a_proj", "kv_a_proj_with_mqa")
    return (
        pair.layer == 0
        and dimension == 1
        and pair.role.split(".")[-2] in reads
        and pair.found.shape[1:] == (hidden,)
    )


def _cause(ctx: Context, pair: Pair, dimension: int) -> str:
    if pair.role.split(".")[-2] in INNER:
        return "the ranks of latent attention"
    key = SIZED_BY.get((pair.role, dimension), "hidden_size")
    return _mlp_key(ctx) if key == "intermediate_size" else key


def _mlp_key(ctx: Context) -> str:
    wide = draft_config(ctx).value("model_type") == "llama4_text"
    return "intermediate_size_mlp" if wide else "intermediate_size"


def _finding(ctx: Context, key: str, found: list[tuple[Pair, int]]) -> Finding:
    pair, dimension = found[0]
    assert pair.found is not None
    same_rank = len(pair.found.shape) == len(pair.expected.shape)
    have = pair.found.shape[dimension] if same_rank else 0
    want = pair.expected.shape[dimension] or 0
    axis = (
        "rows" if dimension == 0 and len(pair.expected.shape) > 1 else "columns" if dimension else "entries"
    )
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    today, why, severity = _consequence(pair, dimension, have, want)
    sizes = _sizes(ctx, key, pair.layer)
    torn = len(set(sizes.values())) > 1
    draft = draft_config(ctx)
    return Finding(
        f"{_source(ctx, key)} asks for {want} {axis}, but {pair.found.name} has "
        f"{have if same_rank else list(pair.found.shape)}{more}",
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.ERROR if torn else severity,
        today=today,
        why=f"{why}; whatever {key} says, the tensors contradict each other" if torn else why,
        help=_mend(sizes) if torn else _advice(ctx, key, have),
        evidence=(
            *(
                tensor_line(p.found, f"expected {list(p.expected.shape)}")
                for p, _ in found[:4]
                if p.found is not None
            ),
            *((config_line(draft, key),) if " " not in key else ()),
        ),
        values={key: draft.value(key) if " " not in key else None, "expected": want, "found": have},
        arithmetic=_arithmetic(ctx, key, want),
    )


def _sizes(ctx: Context, key: str, layer: int | None) -> dict[str, int]:
    """The size that each tensor of a layer gives for ``key``, where several do."""
    built = wiring(ctx)
    out: dict[str, int] = {}
    for pair in pairs(ctx, built) if built is not None and key in SIZED_BY.values() else ():
        for (role, dimension), name in SIZED_BY.items():
            found = pair.found
            alike = pair.layer == layer and pair.role == role and name == key and found is not None
            if alike and found is not None and len(found.shape) == 2:
                out[found.name] = found.shape[dimension]
    return out


def _mend(sizes: Mapping[str, int]) -> str:
    listed = ", ".join(f"{name.rpartition('.')[0].rpartition('.')[2]} {size}" for name, size in sizes.items())
    return f"save the draft again; no value of the config fits its tensors ({listed})"


def _consequence(pair: Pair, dimension: int, have: int, want: int) -> tuple[Today, str, Severity]:
    strictness = pair.expected.strictness
    strict = strictness == "exact" or dimension != pair.expected.axis
    if strict or (strictness == "truncates" and have < want):
        return (
            Today.CRASH_AT_START,
            "SGLang stops while it loads this tensor: the sizes do not fit",
            Severity.ERROR,
        )
    if have > want:
        return (
            Today.SILENT,
            f"what lies beyond {want} is cut off while loading, and nothing says so: the layer computes "
            "something else",
            Severity.ERROR,
        )
    return (
        Today.SILENT,
        "what is missing is filled with zeros while loading, and nothing says so: config and files "
        "describe different models",
        Severity.WARNING,
    )


def _source(ctx: Context, key: str) -> str:
    if " " in key:
        return f"{draft_config(ctx).file} ({key})"
    value = draft_config(ctx).value(key)
    if value is not None:
        return f"{key} {value}"
    return f"{draft_config(ctx).file} without {key}{left_by(draft_config(ctx), key)}"


def _advice(ctx: Context, key: str, have: int) -> str:
    draft = draft_config(ctx)
    width = head_width(draft)
    if key in ("num_attention_heads", "num_key_value_heads") and width and have % width == 0:
        return f'write "{key}": {have // width} into {draft.file}{OTHERWISE}'
    if key.startswith("intermediate_size"):
        return f'write "{key}": {have} into {draft.file}{OTHERWISE}'
    return "take weights and config from one training run"


def _arithmetic(ctx: Context, key: str, want: int) -> tuple[str, ...]:
    draft = draft_config(ctx)
    count = (
        key_value_heads(draft) if key == "num_key_value_heads" else None if " " in key else draft.integer(key)
    )
    width = head_width(draft)
    if key in ("num_attention_heads", "num_key_value_heads") and count and width:
        return (f"{key} × head_dim = {count} × {width} = {count * width}",)
    return ()


RULE = Rule(
    id="EC225",
    slug="tensor-shape",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC224", "EC230", "EC262", *UNLOADABLE),
    research=("SHP-07", "SHP-08", "SHP-09", "SHP-10", "SHP-25"),
)
