"""Rules about the shapes and names of the draft's tensors."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.shapes import (
    ec221_fusion_shape,
    ec222_state_width,
    ec223_tensors_missing,
    ec224_first_layer_width,
    ec225_tensor_shape,
    ec226_tensors_unknown,
    ec227_attention_extras,
    ec228_layer_blocks,
    ec229_layer_count,
    ec230_head_dim,
    ec231_hidden_act,
    ec232_mla_ranks,
    ec233_own_embedding,
    ec234_fusion_bias,
    ec235_own_embedding_replaced,
)

RULES: tuple[Rule, ...] = (
    ec221_fusion_shape.RULE,
    ec222_state_width.RULE,
    ec223_tensors_missing.RULE,
    ec224_first_layer_width.RULE,
    ec225_tensor_shape.RULE,
    ec226_tensors_unknown.RULE,
    ec227_attention_extras.RULE,
    ec228_layer_blocks.RULE,
    ec229_layer_count.RULE,
    ec230_head_dim.RULE,
    ec231_hidden_act.RULE,
    ec232_mla_ranks.RULE,
    ec233_own_embedding.RULE,
    ec234_fusion_bias.RULE,
    ec235_own_embedding_replaced.RULE,
)
