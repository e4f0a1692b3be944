"""A running server against its config. Opt-in: these rules look at nothing unless a server was asked."""

from __future__ import annotations

from eaglecfg.rules.live import (
    ec851_live_unanswered,
    ec852_live_engine_version,
    ec853_live_models,
    ec854_live_speculation,
    ec855_live_settings,
    ec856_live_boundaries,
    ec857_live_generation_failed,
    ec858_live_accept_length,
    ec859_live_no_acceptance,
    ec860_live_counters_missing,
    ec861_live_extra_settings,
)
from eaglecfg.rules.model import Rule

RULES: tuple[Rule, ...] = (
    ec851_live_unanswered.RULE,
    ec852_live_engine_version.RULE,
    ec853_live_models.RULE,
    ec854_live_speculation.RULE,
    ec855_live_settings.RULE,
    ec856_live_boundaries.RULE,
    ec857_live_generation_failed.RULE,
    ec858_live_accept_length.RULE,
    ec859_live_no_acceptance.RULE,
    ec860_live_counters_missing.RULE,
    ec861_live_extra_settings.RULE,
)
