"""A norm for each captured state before fc."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, Rule, Severity, Today
from eaglecfg.rules.numerics.optional_norm import OptionalNorm, check_norm

NORM = OptionalNorm(
    ("fc_norm", "use_aux_norm"),
    ("fc_norm", "aux_norm_low", "aux_norm_mid", "aux_norm_high"),
    "the norm of each state before fc",
)


def check(ctx: Context) -> Iterator[Item]:
    """``fc_norm`` or ``use_aux_norm``, the norm tensors and the engine version must agree."""
    return check_norm(ctx, NORM)


RULE = Rule(
    id="EC256",
    slug="fc-norm",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=UNLOADABLE,
    research=("SHP-17", "SHP-18", "VER-04"),
)
