"""Write a target in the shape of Llama-3.1-8B and an EAGLE-3 draft for it, without weights.

Config files and tensor headers are real; the weights are holes of sparse files, which take almost no disk.
`step_cost` studies need no more: their servers make weights up.

    python examples/llama-8b/make_files.py            writes target/ and draft/ beside this file
"""

from __future__ import annotations

import sys
from pathlib import Path

from eaglecfg.checkpoint.sketch import write_checkpoint

LAYERS, HIDDEN, VOCABULARY, DRAFT_VOCABULARY = 32, 4096, 128256, 32000
HEADS, KV_HEADS, HEAD_DIM, INTERMEDIATE = 32, 8, 128, 14336
STATES = 3

SHARED = {
    "model_type": "llama",
    "dtype": "bfloat16",
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "intermediate_size": INTERMEDIATE,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
    "vocab_size": VOCABULARY,
    "bos_token_id": 128000,
    "eos_token_id": 128001,
}
TARGET = {**SHARED, "architectures": ["LlamaForCausalLM"], "num_hidden_layers": LAYERS}
DRAFT = {
    **SHARED,
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": DRAFT_VOCABULARY,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 15, 28], "use_aux_hidden_state": True},
}


def layer(prefix: str, inputs: int) -> dict[str, list[int]]:
    """The shapes of one decoder layer whose attention reads ``inputs`` columns."""
    return {
        prefix + "self_attn.q_proj.weight": [HEADS * HEAD_DIM, inputs],
        prefix + "self_attn.k_proj.weight": [KV_HEADS * HEAD_DIM, inputs],
        prefix + "self_attn.v_proj.weight": [KV_HEADS * HEAD_DIM, inputs],
        prefix + "self_attn.o_proj.weight": [HIDDEN, HEADS * HEAD_DIM],
        prefix + "mlp.gate_proj.weight": [INTERMEDIATE, HIDDEN],
        prefix + "mlp.up_proj.weight": [INTERMEDIATE, HIDDEN],
        prefix + "mlp.down_proj.weight": [HIDDEN, INTERMEDIATE],
        prefix + "input_layernorm.weight": [HIDDEN],
        prefix + "post_attention_layernorm.weight": [HIDDEN],
    }


def bf16(shapes: dict[str, list[int]]) -> dict[str, tuple[str, list[int]]]:
    """Every shape as a bfloat16 tensor."""
    return {name: ("BF16", shape) for name, shape in shapes.items()}


def main(folder: Path) -> None:
    """Write ``folder``/target and ``folder``/draft."""
    target = {"model.embed_tokens.weight": [VOCABULARY, HIDDEN], "model.norm.weight": [HIDDEN]}
    for index in range(LAYERS):
        target |= layer(f"model.layers.{index}.", HIDDEN)
    write_checkpoint(folder / "target", TARGET, bf16(target | {"lm_head.weight": [VOCABULARY, HIDDEN]}))
    draft = layer("midlayer.", 2 * HIDDEN) | {
        "midlayer.hidden_norm.weight": [HIDDEN],
        "fc.weight": [HIDDEN, STATES * HIDDEN],
        "norm.weight": [HIDDEN],
        "lm_head.weight": [DRAFT_VOCABULARY, HIDDEN],
    }
    every = VOCABULARY // DRAFT_VOCABULARY
    kept = every * DRAFT_VOCABULARY
    write_checkpoint(
        folder / "draft",
        DRAFT,
        bf16(draft) | {"d2t": ("I64", [DRAFT_VOCABULARY]), "t2d": ("BOOL", [VOCABULARY])},
        {
            "d2t": [(every - 1) * index for index in range(DRAFT_VOCABULARY)],
            "t2d": bytes(index % every == 0 and index < kept for index in range(VOCABULARY)),
        },
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
