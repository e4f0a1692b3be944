"""Known faults of engine versions."""

from __future__ import annotations

from eaglecfg.rules.bugs import (
    ec901_graph_reset,
    ec902_residual_missing,
    ec903_before_all_reduce,
    ec904_draft_graph_width,
)
from eaglecfg.rules.model import Rule

RULES: tuple[Rule, ...] = (
    ec901_graph_reset.RULE,
    ec902_residual_missing.RULE,
    ec903_before_all_reduce.RULE,
    ec904_draft_graph_width.RULE,
)
