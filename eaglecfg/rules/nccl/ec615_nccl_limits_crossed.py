"""A least number above the greatest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import write_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

PAIRS = (
    ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCHANNELS' minimum wins"),
    ("NCCL_MIN_NRINGS", "NCCL_MAX_NRINGS", "the minimum wins"),
    ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "the maximum wins"),
    ("NCCL_MIN_NCHANNELS", "NCCL_MAX_CTAS", "the number of channels wins"),
)
"""Lower limit, upper limit, and which of them NCCL follows."""


def check(ctx: Context) -> Iterator[Item]:
    """A lower limit must not lie above the upper one."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for low, high, who in PAIRS:
        if low not in view or high not in view:
            continue
        least, most = view.number(low), view.number(high)
        if least is None or most is None or least <= most:
            continue
        winner = most if who.startswith("the maximum") else least
        yield view.finding(
            low,
            f"{view.spelled(low)} lies above {view.spelled(high)}: {who}, {winner}",
            why="NCCL applies one limit after the other and reports nothing",
            help=f"make {low} at most {most}",
            related=((view.path(high), "the upper limit"),),
            values={high: view.text(high), "runs": winner},
        )
    yield from _nvls(view)


def _nvls(view: Settings) -> Iterator[Item]:
    name = "NCCL_NVLS_NCHANNELS"
    asked = view.number(name) if name in view else None
    if asked is None:
        return
    for limit, beyond in (("NCCL_MIN_CTAS", int.__lt__), ("NCCL_MAX_CTAS", int.__gt__)):
        bound = view.number(limit) if limit in view else None
        if bound is not None and beyond(asked, bound):
            yield view.finding(
                name,
                f"{view.spelled(name)} lies outside {view.spelled(limit)}; NCCL uses {bound}",
                severity=Severity.WARNING,
                today=Today.REWRITTEN,
                why="the limits of blocks hold for NVLS too",
                help=f"bring {name} inside",
                fix=write_variable(view, name, str(bound)),
                related=((view.path(limit), "the limit"),),
            )


RULE = Rule(
    id="EC615",
    slug="nccl-limits-crossed",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    follows=(
        "EC604",
        "EC606",
        "EC607",
        "EC622",
    ),
    research=(
        "nccl/C001",
        "nccl/C002",
        "nccl/C003",
        "nccl/C007",
    ),
)
