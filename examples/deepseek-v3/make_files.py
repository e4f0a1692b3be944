"""Write targets in the shape of DeepSeek-V3 and EAGLE-3 drafts for them, without weights.

target/ has all 61 layers: 673 GB in fp8 blocks, 80 GiB on each of eight GPUs. target-12/ has the first 12 of
them: 109 GB, 51 GiB on each of two, for a first launch of the same classes and kernels. The configs are real.
Of the target's tensors few are there, and all are holes of sparse files, which take almost no disk:
`step_cost` studies need no more, as their servers make weights up.

    python examples/deepseek-v3/make_files.py   writes target, draft, target-12 and draft-12 beside this file
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from eaglecfg.checkpoint.sketch import write_checkpoint
from eaglecfg.checkpoint.sketch_shapes import bf16, eagle3_draft, map_shapes, map_values

HIDDEN, VOCABULARY, DRAFT_VOCABULARY = 7168, 129280, 32000
DRAFT_HEADS, DRAFT_KV_HEADS, DRAFT_HEAD_DIM, INTERMEDIATE = 64, 8, 128, 18432
STATES = 3
CAPTURED = {61: [3, 31, 59], 12: [2, 6, 9]}
"""Layers of a target -> the boundaries that its draft reads; SGLang 0.5.13 and later take these as ids."""

SHARED = {
    "dtype": "bfloat16",
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000,
    "max_position_embeddings": 163840,
    "tie_word_embeddings": False,
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
TARGET = {
    **SHARED,
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "attention_bias": False,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "n_group": 8,
    "topk_group": 4,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    "norm_topk_prob": True,
    "routed_scaling_factor": 2.5,
    "rope_scaling": {
        "type": "yarn",
        "factor": 40,
        "original_max_position_embeddings": 4096,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
    "quantization_config": {
        "quant_method": "fp8",
        "fmt": "e4m3",
        "activation_scheme": "dynamic",
        "weight_block_size": [128, 128],
    },
}
DRAFT = {
    **SHARED,
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "num_attention_heads": DRAFT_HEADS,
    "num_key_value_heads": DRAFT_KV_HEADS,
    "head_dim": DRAFT_HEAD_DIM,
    "draft_vocab_size": DRAFT_VOCABULARY,
}


def write_target(folder: Path, layers: int) -> None:
    """The config of a target of ``layers`` layers, its tables, and of each layer a norm."""
    norms = {f"model.layers.{index}.input_layernorm.weight": [HIDDEN] for index in range(layers)}
    tables = {f"{name}.weight": [VOCABULARY, HIDDEN] for name in ("model.embed_tokens", "lm_head")}
    config = {**TARGET, "num_hidden_layers": layers}
    write_checkpoint(folder, config, bf16({**tables, **norms, "model.norm.weight": [HIDDEN]}))


def write_draft(folder: Path, ids: list[int]) -> None:
    """A whole draft that reads ``ids``."""
    sizes = {"query": DRAFT_HEADS * DRAFT_HEAD_DIM, "key_value": DRAFT_KV_HEADS * DRAFT_HEAD_DIM}
    tensors = eagle3_draft(
        states=STATES, hidden=HIDDEN, **sizes, intermediate=INTERMEDIATE, draft_vocabulary=DRAFT_VOCABULARY
    )
    capture: dict[str, Any] = {"eagle_aux_hidden_state_layer_ids": ids, "use_aux_hidden_state": True}
    write_checkpoint(
        folder,
        {**DRAFT, "eagle_config": capture},
        bf16(tensors) | map_shapes(VOCABULARY, DRAFT_VOCABULARY),
        map_values(VOCABULARY, DRAFT_VOCABULARY),
    )


def main(folder: Path) -> None:
    """Write both targets and both drafts below ``folder``."""
    for layers, ids in CAPTURED.items():
        suffix = "" if layers == 61 else f"-{layers}"
        write_target(folder / f"target{suffix}", layers)
        write_draft(folder / f"draft{suffix}", ids)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
