"""The values of the draft's weights. Opt-in: these rules look at nothing without `validate --weights`."""

from __future__ import annotations

from eaglecfg.rules.model import Rule
from eaglecfg.rules.weights import (
    ec818_dead_weights,
    ec819_state_ignored,
    ec820_weights_with_holes,
    ec821_same_weights,
)

RULES: tuple[Rule, ...] = (
    ec818_dead_weights.RULE,
    ec819_state_ignored.RULE,
    ec820_weights_with_holes.RULE,
    ec821_same_weights.RULE,
)
