"""One norm over all captured states before fc."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, Rule, Severity, Today
from eaglecfg.rules.numerics.optional_norm import OptionalNorm, check_norm

NORM = OptionalNorm(("norm_before_fc",), ("input_norm",), "the norm before fc")


def check(ctx: Context) -> Iterator[Item]:
    """``norm_before_fc``, ``input_norm.weight`` and the engine version must agree."""
    return check_norm(ctx, NORM)


RULE = Rule(
    id="EC255",
    slug="norm-before-fc",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=UNLOADABLE,
    research=("SHP-15", "SHP-16", "VER-04"),
)
