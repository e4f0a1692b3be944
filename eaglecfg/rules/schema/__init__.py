"""Rules about the shape of the files, and about what they declare against what other files say."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.schema import (
    ec101_unknown_key,
    ec102_wrong_type,
    ec103_missing_key,
    ec104_same_setting_twice,
    ec105_declared_fact,
    ec106_declared_offset,
    ec107_training_record,
    ec108_expected_accept_length,
    ec121_suppression_reason,
    ec122_suppression_unknown,
    ec123_suppression_unused,
    ec124_suppression_refused,
)

RULES: tuple[Rule, ...] = (
    ec101_unknown_key.RULE,
    ec102_wrong_type.RULE,
    ec103_missing_key.RULE,
    ec104_same_setting_twice.RULE,
    ec105_declared_fact.RULE,
    ec106_declared_offset.RULE,
    ec107_training_record.RULE,
    ec108_expected_accept_length.RULE,
    ec121_suppression_reason.RULE,
    ec122_suppression_unknown.RULE,
    ec123_suppression_unused.RULE,
    ec124_suppression_refused.RULE,
)
