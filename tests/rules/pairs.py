"""Small drafts of both classes, for tests that change one thing of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Finding, Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

RANKS = {
    "q_lora_rank": 96,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "num_key_value_heads": 4,
}
MLA_CONFIG: Mapping[str, Any] = {"architectures": ["Eagle3DeepseekV2ForCausalLM"], **RANKS}
MLA_TENSORS: Mapping[str, Any] = {
    "midlayer.self_attn.q_proj.weight": None,
    "midlayer.self_attn.k_proj.weight": None,
    "midlayer.self_attn.v_proj.weight": None,
    "midlayer.self_attn.q_a_proj.weight": ["BF16", [96, 512]],
    "midlayer.self_attn.q_a_layernorm.weight": ["BF16", [96]],
    "midlayer.self_attn.q_b_proj.weight": ["BF16", [256, 96]],
    "midlayer.self_attn.kv_a_proj_with_mqa.weight": ["BF16", [96, 512]],
    "midlayer.self_attn.kv_a_layernorm.weight": ["BF16", [64]],
    "midlayer.self_attn.kv_b_proj.weight": ["BF16", [384, 64]],
}
LLAMA_SHAPES: Mapping[str, list[int]] = {
    "fc.weight": [256, 768],
    "norm.weight": [256],
    "lm_head.weight": [256, 256],
    "midlayer.input_layernorm.weight": [256],
    "midlayer.hidden_norm.weight": [256],
    "midlayer.post_attention_layernorm.weight": [256],
    "midlayer.self_attn.q_proj.weight": [256, 512],
    "midlayer.self_attn.k_proj.weight": [128, 512],
    "midlayer.self_attn.v_proj.weight": [128, 512],
    "midlayer.self_attn.o_proj.weight": [256, 256],
    "midlayer.mlp.gate_proj.weight": [512, 256],
    "midlayer.mlp.up_proj.weight": [512, 256],
    "midlayer.mlp.down_proj.weight": [256, 512],
}


def check(folder: Path, **example: Any) -> Report:
    """What all rules say of the small pair, changed as the examples of rules are."""
    return validate([read_document(materialize(example, folder))])


def mla(config: Mapping[str, Any] | None = None, tensors: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The draft with latent attention, changed."""
    return {"config": {**MLA_CONFIG, **(config or {})}, "tensors": {**MLA_TENSORS, **(tensors or {})}}


def serious(report: Report) -> dict[str, Finding]:
    """Findings that are errors or warnings, by rule."""
    assert not report.crashes, report.crashes[0].trace
    grave = (Severity.ERROR, Severity.WARNING)
    return {each.rule.id: each.finding for each in report.findings if each.severity in grave}
