"""Which tensors of a target are worth opening a shard for. The others are known by name, from the index."""

from __future__ import annotations

from collections.abc import Collection

WHOLE_MODEL = (
    "embed_tokens.weight",
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "wte.weight",
    "lm_head.weight",
    "output.weight",
)
"""Embedding and head: width, vocabulary, tying, dtype."""

ONE_LAYER = (
    "input_layernorm.weight",
    "self_attn.q_proj.weight",
    "self_attn.k_proj.weight",
    "self_attn.v_proj.weight",
    "self_attn.qkv_proj.weight",
    "self_attn.o_proj.weight",
)
"""Width and heads, of the first layer; the last layer's norm alone, for the depth."""

FINAL_NORMS = (
    "norm.weight",
    "model.norm.weight",
    "language_model.norm.weight",
    "final_layernorm.weight",
    "ln_f.weight",
)


def wanted(names: Collection[str], layers: int | None) -> list[str]:
    """The names, of those in an index, whose shape or dtype some rule looks at."""
    ends = [*WHOLE_MODEL, *(f"layers.0.{name}" for name in ONE_LAYER), *FINAL_NORMS]
    if layers is not None:
        ends.append(f"layers.{layers - 1}.input_layernorm.weight")
    found = (name for name in names if name.endswith(tuple(ends)))
    return [name for name in found if _starts_at_a_part(name, ends)]


def _starts_at_a_part(name: str, ends: list[str]) -> bool:
    """Whether the ending begins at a part of the name, and no layer stands before a final norm."""
    for end in ends:
        before = name[: -len(end)]
        if name.endswith(end) and (not before or before.endswith(".")):
            return end not in FINAL_NORMS or "layers." not in before
    return False
