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
    ec711_step_cost_engine,
    ec712_step_cost_length,
    ec713_step_cost_eos,
    ec714_simulated_for_real,
    ec715_workload_source,
    ec716_launch_hides_variable,
    ec717_launch_hides_flag,
    ec718_start_over_limit,
    ec719_baseline_twice,
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
    ec711_step_cost_engine.RULE,
    ec712_step_cost_length.RULE,
    ec713_step_cost_eos.RULE,
    ec714_simulated_for_real.RULE,
    ec715_workload_source.RULE,
    ec716_launch_hides_variable.RULE,
    ec717_launch_hides_flag.RULE,
    ec718_start_over_limit.RULE,
    ec719_baseline_twice.RULE,
)
