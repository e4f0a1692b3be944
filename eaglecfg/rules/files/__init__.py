"""Rules about the files of a checkpoint: whether they are there, whole, in agreement, and safe to load."""

from __future__ import annotations

from eaglecfg.rules.files import (
    ec801_checkpoint_unread,
    ec802_config_json,
    ec803_files_missing,
    ec804_files_cut_short,
    ec805_file_malformed,
    ec806_tensor_twice,
    ec807_index_disagrees,
    ec808_file_sets,
    ec809_pickled_weights,
    ec810_remote_code,
    ec811_revision_not_fixed,
    ec812_odd_files,
    ec813_side_files,
    ec814_config_value_types,
    ec815_revision_given_twice,
    ec816_target_layers,
    ec817_target_head,
)
from eaglecfg.rules.model import Rule

RULES: tuple[Rule, ...] = (
    ec801_checkpoint_unread.RULE,
    ec802_config_json.RULE,
    ec803_files_missing.RULE,
    ec804_files_cut_short.RULE,
    ec805_file_malformed.RULE,
    ec806_tensor_twice.RULE,
    ec807_index_disagrees.RULE,
    ec808_file_sets.RULE,
    ec809_pickled_weights.RULE,
    ec810_remote_code.RULE,
    ec811_revision_not_fixed.RULE,
    ec812_odd_files.RULE,
    ec813_side_files.RULE,
    ec814_config_value_types.RULE,
    ec815_revision_given_twice.RULE,
    ec816_target_layers.RULE,
    ec817_target_head.RULE,
)
