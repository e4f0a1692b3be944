"""The output of the last layer is out of reach for most target classes."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.boundaries import Boundaries
from eaglecfg.rules.capture.ids import layers, target_config
from eaglecfg.rules.capture.reach import FOLLOWS, NEEDS, finding, reason
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Boundary n may be asked for only where the target class captures it."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if reason(context) != "last" or found.ids is None or n is None:
        return
    last = found.ids[found.shifted.index(n)]
    yield finding(
        context,
        f"id {last} means boundary {n}, the output of the last of {n} layers, which "
        f"{engine_label(context)} does not capture for {target_config(context).architecture}"
        f"{_arriving(found)}",
        "states are taken on the way into a layer, and no layer follows the last",
        f"use a draft that was trained on boundaries up to {n - 1}",
    )


def _arriving(found: Boundaries) -> str:
    if found.outcome != "short":
        return ""
    return f": {len(found.captured)} of {len(found.shifted)} states arrive"


RULE = Rule(
    id="EC209",
    slug="last-boundary-not-captured",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=NEEDS,
    follows=("EC816", *FOLLOWS),
    research=("IDS-16", "VER-04"),
)
