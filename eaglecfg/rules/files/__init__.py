"""Rules about the files of a checkpoint: whether they are there, whole, in agreement, and safe to load."""

from __future__ import annotations

from eaglecfg.rules.model import Rule

RULES: tuple[Rule, ...] = ()
