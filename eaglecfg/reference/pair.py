"""Write a target and draft pair as transformers and SGLang load them; weights given or random."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class PairShape:
    """The numbers of a pair. ``ids``: capture layer ids as the draft config spells them."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    draft_intermediate: int
    draft_vocab: int
    ids: tuple[int, ...]
    context: int
    tied: bool = True
    rope_theta: float = 10000.0
    eps: float = 1e-5
    bos: int = 0
    eos: int = 0
    dtype: str = "bfloat16"

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Boundaries that SGLang's Llama class captures for ``ids``."""
        return tuple(sorted(i + 1 for i in self.ids))


def _common(shape: PairShape) -> dict[str, Any]:
    # Old readers take rope_theta and torch_dtype, new ones rope_parameters and dtype: both are written.
    return {
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "vocab_size": shape.vocab,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.eps,
        "rope_theta": shape.rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": shape.rope_theta},
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": shape.bos,
        "eos_token_id": shape.eos,
        "torch_dtype": shape.dtype,
        "dtype": shape.dtype,
    }


def target_config(shape: PairShape) -> dict[str, Any]:
    """``config.json`` of the target."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": shape.layers,
        "intermediate_size": shape.intermediate,
        "tie_word_embeddings": shape.tied,
        **_common(shape),
    }


def draft_config(shape: PairShape) -> dict[str, Any]:
    """``config.json`` of the draft, as SGLang's ``LlamaForCausalLMEagle3`` reads it."""
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "intermediate_size": shape.draft_intermediate,
        "draft_vocab_size": shape.draft_vocab,
        "tie_word_embeddings": False,
        "eagle_config": {
            "eagle_aux_hidden_state_layer_ids": list(shape.ids),
            "use_aux_hidden_state": True,
        },
        **_common(shape),
    }


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object, indented, with a final newline."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write_target(folder: Path, shape: PairShape, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write config.json, generation_config.json and model.safetensors; ``lm_head.weight`` only untied."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    dtype = getattr(torch, shape.dtype)
    kept = {
        name: tensor.detach().to("cpu", dtype).contiguous().clone()
        for name, tensor in tensors.items()
        if not (shape.tied and name == "lm_head.weight")
    }
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", target_config(shape))
    write_json(
        folder / "generation_config.json",
        {"bos_token_id": shape.bos, "eos_token_id": shape.eos, "do_sample": False},
    )


def write_draft(
    folder: Path, shape: PairShape, tensors: Mapping[str, torch.Tensor], target_ids: Sequence[int]
) -> None:
    """Write config.json and model.safetensors, ``d2t`` as offsets. ``target_ids``: one per draft id."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    dtype = getattr(torch, shape.dtype)
    kept = {name: tensor.detach().to("cpu", dtype).contiguous().clone() for name, tensor in tensors.items()}
    ids = torch.tensor(list(target_ids), dtype=torch.long)
    kept["d2t"] = ids - torch.arange(len(ids))
    kept["t2d"] = torch.zeros(shape.vocab, dtype=torch.bool).index_fill_(0, ids, True)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", draft_config(shape))


def target_tensors(shape: PairShape) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor of the target."""
    q, kv, h = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim, shape.hidden
    names: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (shape.vocab, h),
        "model.norm.weight": (h,),
    }
    for i in range(shape.layers):
        names |= {
            f"model.layers.{i}.{name}": size for name, size in _layer(h, h, q, kv, shape.intermediate).items()
        }
    if not shape.tied:
        names["lm_head.weight"] = (shape.vocab, h)
    return names


def draft_tensors(shape: PairShape) -> dict[str, tuple[int, ...]]:
    """Name and shape of every float tensor of the draft."""
    q, kv, h = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim, shape.hidden
    layer = _layer(2 * h, h, q, kv, shape.draft_intermediate)
    return {
        "fc.weight": (h, len(shape.ids) * h),
        **{f"midlayer.{name}": size for name, size in layer.items()},
        "midlayer.hidden_norm.weight": (h,),
        "norm.weight": (h,),
        "lm_head.weight": (shape.draft_vocab, h),
    }


def _layer(wide: int, h: int, q: int, kv: int, intermediate: int) -> dict[str, tuple[int, ...]]:
    return {
        "input_layernorm.weight": (h,),
        "post_attention_layernorm.weight": (h,),
        "self_attn.q_proj.weight": (q, wide),
        "self_attn.k_proj.weight": (kv, wide),
        "self_attn.v_proj.weight": (kv, wide),
        "self_attn.o_proj.weight": (h, q),
        "mlp.gate_proj.weight": (intermediate, h),
        "mlp.up_proj.weight": (intermediate, h),
        "mlp.down_proj.weight": (h, intermediate),
    }


def write_random_pair(
    folder: Path, shape: PairShape, seed: int = 0, scale: float = 0.08
) -> tuple[Path, Path]:
    """Write a randomly initialised pair under ``folder`` and return the target's and the draft's folder."""
    generator = torch.Generator().manual_seed(seed)

    def fill(sizes: Mapping[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
        return {
            name: torch.ones(size) if len(size) == 1 else torch.randn(size, generator=generator) * scale
            for name, size in sizes.items()
        }

    write_target(folder / "target", shape, fill(target_tensors(shape)))
    ids = torch.randperm(shape.vocab, generator=generator)[: shape.draft_vocab].sort().values
    write_draft(folder / "draft", shape, fill(draft_tensors(shape)), ids.tolist())
    return folder / "target", folder / "draft"
