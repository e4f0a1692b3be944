"""Rules about the draft's vocabulary, its head and its embedding."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.vocabulary import (
    ec238_own_head_dropped,
    ec239_borrowed_width,
    ec240_special_tokens,
    ec241_draft_vocab_size_missing,
    ec242_d2t_missing,
    ec243_d2t_shape,
    ec244_d2t_form,
    ec245_d2t_values,
    ec246_draft_head,
    ec247_tied_head,
    ec248_vocab_size,
    ec249_t2d_marks,
    ec250_standalone_vocabulary,
)

RULES: tuple[Rule, ...] = (
    ec238_own_head_dropped.RULE,
    ec239_borrowed_width.RULE,
    ec240_special_tokens.RULE,
    ec241_draft_vocab_size_missing.RULE,
    ec242_d2t_missing.RULE,
    ec243_d2t_shape.RULE,
    ec244_d2t_form.RULE,
    ec245_d2t_values.RULE,
    ec246_draft_head.RULE,
    ec247_tied_head.RULE,
    ec248_vocab_size.RULE,
    ec249_t2d_marks.RULE,
    ec250_standalone_vocabulary.RULE,
)
