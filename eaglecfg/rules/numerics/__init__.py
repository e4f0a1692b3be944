"""Rules about context length, dtype, norms, positions and quantisation of the draft."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.numerics import (
    ec251_draft_context,
    ec252_target_context,
    ec253_dtype_clash,
    ec254_norm_before_residual,
    ec255_norm_before_fc,
    ec256_fc_norm,
    ec257_norm_output,
    ec258_rope_layout,
    ec259_quantization_inherited,
    ec260_packed_fusion,
    ec261_quantization_blocks,
    ec262_override_hits_both,
    ec263_multimodal_positions,
    ec264_two_norms,
    ec265_rope_theta_absent,
    ec266_draft_quantization,
    ec267_rope_type,
    ec268_undeclared_quantization,
    ec269_plain_weights_declared_packed,
    ec270_rope_theta_twice,
    ec271_plain_part_quantised,
    ec272_rope_left_to_class,
)

RULES: tuple[Rule, ...] = (
    ec251_draft_context.RULE,
    ec252_target_context.RULE,
    ec253_dtype_clash.RULE,
    ec254_norm_before_residual.RULE,
    ec255_norm_before_fc.RULE,
    ec256_fc_norm.RULE,
    ec257_norm_output.RULE,
    ec258_rope_layout.RULE,
    ec259_quantization_inherited.RULE,
    ec260_packed_fusion.RULE,
    ec261_quantization_blocks.RULE,
    ec262_override_hits_both.RULE,
    ec263_multimodal_positions.RULE,
    ec264_two_norms.RULE,
    ec265_rope_theta_absent.RULE,
    ec266_draft_quantization.RULE,
    ec267_rope_type.RULE,
    ec268_undeclared_quantization.RULE,
    ec269_plain_weights_declared_packed.RULE,
    ec270_rope_theta_twice.RULE,
    ec271_plain_part_quantised.RULE,
    ec272_rope_left_to_class.RULE,
)
