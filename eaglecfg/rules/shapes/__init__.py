"""Rules about the shapes and names of the draft's tensors."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.shapes import (
    ec222_state_width,
    ec228_layer_blocks,
    ec229_layer_count,
    ec230_head_dim,
    ec231_hidden_act,
    ec232_mla_ranks,
    ec233_own_embedding_missing,
    ec235_own_embedding_replaced,
)

RULES: tuple[Rule, ...] = (
    ec222_state_width.RULE,
    ec228_layer_blocks.RULE,
    ec229_layer_count.RULE,
    ec230_head_dim.RULE,
    ec231_hidden_act.RULE,
    ec232_mla_ranks.RULE,
    ec233_own_embedding_missing.RULE,
    ec235_own_embedding_replaced.RULE,
)
