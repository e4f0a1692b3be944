"""Which boundaries of the target reach the draft, and whether they are the trained ones."""

from __future__ import annotations

from eaglecfg.rules.capture import (
    ec201_trained_boundaries,
    ec202_ids_unreadable,
    ec203_ids_outside_block,
    ec204_two_id_lists,
    ec205_ids_convention,
    ec206_ids_unsorted,
    ec207_ids_duplicated,
    ec208_ids_beyond_depth,
    ec209_last_boundary,
    ec210_embedding_boundary,
    ec211_ids_negative,
    ec212_state_count,
    ec213_aux_count_key,
    ec214_ids_empty,
    ec215_default_collides,
    ec216_capture_switched_off,
    ec217_fusion_skipped,
    ec218_default_boundaries,
    ec219_fixed_state_count,
    ec220_trained_impossible,
    ec236_block_key,
)
from eaglecfg.rules.model import Rule

RULES: tuple[Rule, ...] = (
    ec201_trained_boundaries.RULE,
    ec202_ids_unreadable.RULE,
    ec203_ids_outside_block.RULE,
    ec204_two_id_lists.RULE,
    ec205_ids_convention.RULE,
    ec206_ids_unsorted.RULE,
    ec207_ids_duplicated.RULE,
    ec208_ids_beyond_depth.RULE,
    ec209_last_boundary.RULE,
    ec210_embedding_boundary.RULE,
    ec211_ids_negative.RULE,
    ec212_state_count.RULE,
    ec213_aux_count_key.RULE,
    ec214_ids_empty.RULE,
    ec215_default_collides.RULE,
    ec216_capture_switched_off.RULE,
    ec217_fusion_skipped.RULE,
    ec218_default_boundaries.RULE,
    ec219_fixed_state_count.RULE,
    ec220_trained_impossible.RULE,
    ec236_block_key.RULE,
)
