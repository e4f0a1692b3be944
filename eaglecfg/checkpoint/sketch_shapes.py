"""Shapes of Llama layers and of EAGLE-3 drafts made of them, for checkpoints that are only sketched."""

from __future__ import annotations

from collections.abc import Mapping

Shapes = dict[str, list[int]]


def bf16(shapes: Mapping[str, list[int]]) -> dict[str, tuple[str, list[int]]]:
    """Every shape as a bfloat16 tensor."""
    return {name: ("BF16", shape) for name, shape in shapes.items()}


def llama_layer(
    prefix: str, *, inputs: int, hidden: int, query: int, key_value: int, intermediate: int
) -> Shapes:
    """One decoder layer. q, k and v read ``inputs`` columns; ``query`` and ``key_value`` are the widths of
    all heads together."""
    return {
        prefix + "input_layernorm.weight": [hidden],
        prefix + "post_attention_layernorm.weight": [hidden],
        prefix + "self_attn.q_proj.weight": [query, inputs],
        prefix + "self_attn.k_proj.weight": [key_value, inputs],
        prefix + "self_attn.v_proj.weight": [key_value, inputs],
        prefix + "self_attn.o_proj.weight": [hidden, query],
        prefix + "mlp.gate_proj.weight": [intermediate, hidden],
        prefix + "mlp.up_proj.weight": [intermediate, hidden],
        prefix + "mlp.down_proj.weight": [hidden, intermediate],
    }


def eagle3_draft(
    *, states: int, hidden: int, query: int, key_value: int, intermediate: int, draft_vocabulary: int
) -> Shapes:
    """A draft of one layer on ``states`` captured states of its own width, without vocabulary maps."""
    sizes = {"hidden": hidden, "query": query, "key_value": key_value, "intermediate": intermediate}
    return {
        "fc.weight": [hidden, states * hidden],
        **llama_layer("midlayer.", inputs=2 * hidden, **sizes),
        "midlayer.hidden_norm.weight": [hidden],
        "norm.weight": [hidden],
        "lm_head.weight": [draft_vocabulary, hidden],
    }


def map_shapes(vocabulary: int, draft_vocabulary: int) -> dict[str, tuple[str, list[int]]]:
    """``d2t`` and ``t2d`` of a draft whose vocabulary is a part of the target's."""
    return {"d2t": ("I64", [draft_vocabulary]), "t2d": ("BOOL", [vocabulary])}


def map_values(vocabulary: int, draft_vocabulary: int) -> dict[str, list[int] | bytes]:
    """Values of the two for a draft that keeps every so-manieth token of the target."""
    every = vocabulary // draft_vocabulary
    kept = every * draft_vocabulary
    return {
        "d2t": [(every - 1) * index for index in range(draft_vocabulary)],
        "t2d": bytes(index % every == 0 and index < kept for index in range(vocabulary)),
    }
