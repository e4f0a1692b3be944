"""Negative boundaries mark another layer, or none."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import spelled
from eaglecfg.rules.capture.reach import FOLLOWS, NEEDS, finding, reason
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Every boundary must be 0 or more."""
    found = context.boundaries
    assert found is not None
    if reason(context) != "negative" or found.ids is None:
        return
    pairs = zip(found.ids, found.shifted, strict=True)
    low = ", ".join(f"id {i} becomes boundary {boundary}" for i, boundary in pairs if boundary < 0)
    wrapped = found.outcome == "wrapped"
    yield finding(
        context,
        f"{low} in {engine_label(context)}, which does not exist; capture ids are {spelled(found.ids)}",
        "the target marks layers by index, and index −1 is the last layer: another state is captured, "
        "without a message"
        if wrapped
        else "no layer has that number, so fewer states arrive than fc was built for",
        "list layers by their number from 0 on, as in training",
    )


RULE = Rule(
    id="EC211",
    slug="capture-ids-negative",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=NEEDS,
    follows=FOLLOWS,
    research=("IDS-14",),
)
