"""Rules about the text of a file, before it means anything."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.text import (
    ec001_yaml_syntax,
    ec002_duplicate_key,
    ec003_merge_key,
    ec004_text_encoding,
    ec005_file_limits,
    ec006_plain_yaml,
    ec007_ambiguous_number,
    ec008_conflict_marker,
    ec009_empty_file,
    ec010_byte_order_mark,
)

RULES: tuple[Rule, ...] = (
    ec001_yaml_syntax.RULE,
    ec002_duplicate_key.RULE,
    ec003_merge_key.RULE,
    ec004_text_encoding.RULE,
    ec005_file_limits.RULE,
    ec006_plain_yaml.RULE,
    ec007_ambiguous_number.RULE,
    ec008_conflict_marker.RULE,
    ec009_empty_file.RULE,
    ec010_byte_order_mark.RULE,
)
