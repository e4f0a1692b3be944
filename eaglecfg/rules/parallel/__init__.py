"""Rules about ranks, GPUs and the memory that they share."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.parallel import (
    ec401_target_heads,
    ec402_draft_heads,
    ec403_target_kv_heads,
    ec404_draft_kv_heads,
    ec405_target_mlp,
    ec406_draft_mlp,
    ec407_mla_fusion,
    ec408_attention_groups,
    ec409_gpu_count,
    ec410_pipeline,
    ec411_replicated_heads,
    ec412_replicated_embedding,
    ec413_draft_cache,
    ec414_borrowed_head,
    ec415_two_batch_overlap,
    ec416_draft_cache_dtype,
    ec417_draft_weights,
    ec418_expert_ranks,
    ec419_gpu_unknown,
    ec420_ranks_over_nodes,
    ec421_weights_beyond_memory,
    ec422_attention_groups_unaware,
)

RULES: tuple[Rule, ...] = (
    ec401_target_heads.RULE,
    ec402_draft_heads.RULE,
    ec403_target_kv_heads.RULE,
    ec404_draft_kv_heads.RULE,
    ec405_target_mlp.RULE,
    ec406_draft_mlp.RULE,
    ec407_mla_fusion.RULE,
    ec408_attention_groups.RULE,
    ec409_gpu_count.RULE,
    ec410_pipeline.RULE,
    ec411_replicated_heads.RULE,
    ec412_replicated_embedding.RULE,
    ec413_draft_cache.RULE,
    ec414_borrowed_head.RULE,
    ec415_two_batch_overlap.RULE,
    ec416_draft_cache_dtype.RULE,
    ec417_draft_weights.RULE,
    ec418_expert_ranks.RULE,
    ec419_gpu_unknown.RULE,
    ec420_ranks_over_nodes.RULE,
    ec421_weights_beyond_memory.RULE,
    ec422_attention_groups_unaware.RULE,
)
