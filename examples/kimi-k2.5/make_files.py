"""Write the files that `eaglecfg validate` reads, in the shapes of Kimi-K2.5 and an EAGLE-3 draft for it.

The weights are holes of sparse files: the folders look like gigabytes and take almost no disk.

    python examples/kimi-k2.5/make_files.py            writes target/ and draft/ beside this file
"""

from __future__ import annotations

import sys
from pathlib import Path

from eaglecfg.checkpoint.sketch import write_checkpoint
from eaglecfg.checkpoint.sketch_shapes import bf16, eagle3_draft, map_shapes, map_values

LAYERS, HIDDEN, VOCABULARY, DRAFT_VOCABULARY = 61, 7168, 163840, 32000
HEADS, HEAD_DIM, INTERMEDIATE = 64, 128, 18432
STATES = 3

TARGET = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "dtype": "bfloat16",
    "text_config": {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "kimi_k2",
        "dtype": "bfloat16",
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "intermediate_size": INTERMEDIATE,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 384,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 1,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 262144,
        "rope_theta": 50000.0,
        "tie_word_embeddings": False,
        "vocab_size": VOCABULARY,
    },
    "tie_word_embeddings": False,
}

DRAFT = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "dtype": "bfloat16",
    "hidden_size": HIDDEN,
    "num_hidden_layers": 1,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "head_dim": HEAD_DIM,
    "intermediate_size": INTERMEDIATE,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 262144,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": False,
    "vocab_size": VOCABULARY,
    "draft_vocab_size": DRAFT_VOCABULARY,
    "eagle_config": {
        "eagle_aux_hidden_state_layer_ids": [2, 30, 58],
        "use_aux_hidden_state": True,
    },
}


def main(folder: Path) -> None:
    """Write ``folder``/target and ``folder``/draft."""
    body = "language_model.model."
    write_checkpoint(
        folder / "target",
        TARGET,
        bf16(
            {
                body + "embed_tokens.weight": [VOCABULARY, HIDDEN],
                **{body + f"layers.{n}.input_layernorm.weight": [HIDDEN] for n in range(LAYERS)},
                body + "norm.weight": [HIDDEN],
                "language_model.lm_head.weight": [VOCABULARY, HIDDEN],
            }
        ),
    )
    sizes = {"query": HEADS * HEAD_DIM, "key_value": HEADS * HEAD_DIM, "intermediate": INTERMEDIATE}
    draft = eagle3_draft(states=STATES, hidden=HIDDEN, **sizes, draft_vocabulary=DRAFT_VOCABULARY)
    write_checkpoint(
        folder / "draft",
        DRAFT,
        bf16(draft) | map_shapes(VOCABULARY, DRAFT_VOCABULARY),
        map_values(VOCABULARY, DRAFT_VOCABULARY),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
