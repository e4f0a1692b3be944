"""Write a target in the shape of Llama-3.1-8B and an EAGLE-3 draft for it, without weights.

Config files and tensor headers are real; the weights are holes of sparse files, which take almost no disk.
`step_cost` studies need no more: their servers make weights up.

    python examples/llama-8b/make_files.py            writes target/ and draft/ beside this file
"""

from __future__ import annotations

import sys
from pathlib import Path

from eaglecfg.checkpoint.sketch import write_checkpoint
from eaglecfg.checkpoint.sketch_shapes import bf16, eagle3_draft, llama_layer, map_shapes, map_values

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


SIZES = {
    "hidden": HIDDEN,
    "query": HEADS * HEAD_DIM,
    "key_value": KV_HEADS * HEAD_DIM,
    "intermediate": INTERMEDIATE,
}


def main(folder: Path) -> None:
    """Write ``folder``/target and ``folder``/draft."""
    target = {"model.embed_tokens.weight": [VOCABULARY, HIDDEN], "model.norm.weight": [HIDDEN]}
    for index in range(LAYERS):
        target |= llama_layer(f"model.layers.{index}.", inputs=HIDDEN, **SIZES)
    write_checkpoint(folder / "target", TARGET, bf16(target | {"lm_head.weight": [VOCABULARY, HIDDEN]}))
    draft = eagle3_draft(states=STATES, **SIZES, draft_vocabulary=DRAFT_VOCABULARY)
    write_checkpoint(
        folder / "draft",
        DRAFT,
        bf16(draft) | map_shapes(VOCABULARY, DRAFT_VOCABULARY),
        map_values(VOCABULARY, DRAFT_VOCABULARY),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
