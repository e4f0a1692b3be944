"""Rules about study files."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.study import (
    ec701_study_config,
    ec702_study_deployment,
    ec703_space_key,
    ec704_space_choices,
    ec705_prompts_file,
    ec706_budget_missing,
    ec707_budget_limits,
    ec708_objective_limits,
    ec709_study_shapes,
    ec710_holdout_share,
)

RULES: tuple[Rule, ...] = (
    ec701_study_config.RULE,
    ec702_study_deployment.RULE,
    ec703_space_key.RULE,
    ec704_space_choices.RULE,
    ec705_prompts_file.RULE,
    ec706_budget_missing.RULE,
    ec707_budget_limits.RULE,
    ec708_objective_limits.RULE,
    ec709_study_shapes.RULE,
    ec710_holdout_share.RULE,
)
