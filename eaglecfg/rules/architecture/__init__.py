"""Whether algorithm, draft class, target class and engine version go together at all."""

from __future__ import annotations

from eaglecfg.rules.architecture import (
    ec501_algorithm_for_eagle3_draft,
    ec502_draft_of_another_kind,
    ec503_draft_missing,
    ec504_draft_class_unknown,
    ec505_draft_class_of_target,
    ec506_architectures_missing,
    ec507_draft_class_too_new,
    ec508_target_cannot_capture,
    ec509_engine_version_standing,
    ec510_algorithm_unknown,
    ec511_engine_unknown,
    ec512_quantised_target,
    ec513_model_type_missing,
    ec514_module_left_out,
)
from eaglecfg.rules.model import Rule

RULES: tuple[Rule, ...] = (
    ec501_algorithm_for_eagle3_draft.RULE,
    ec502_draft_of_another_kind.RULE,
    ec503_draft_missing.RULE,
    ec504_draft_class_unknown.RULE,
    ec505_draft_class_of_target.RULE,
    ec506_architectures_missing.RULE,
    ec507_draft_class_too_new.RULE,
    ec508_target_cannot_capture.RULE,
    ec509_engine_version_standing.RULE,
    ec510_algorithm_unknown.RULE,
    ec511_engine_unknown.RULE,
    ec512_quantised_target.RULE,
    ec513_model_type_missing.RULE,
    ec514_module_left_out.RULE,
)
