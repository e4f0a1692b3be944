"""An id beyond the target's depth names a layer that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import engine_label, layers, spelled
from eaglecfg.rules.capture.reach import FOLLOWS, NEEDS, finding, reason
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Every boundary must be at most the number of layers."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if reason(context) != "beyond" or found.ids is None or n is None:
        return
    pairs = zip(found.ids, found.shifted, strict=True)
    far = [f"id {i} means boundary {boundary}" for i, boundary in pairs if boundary > n]
    boundary_form = max(found.ids) == n
    yield finding(
        context,
        f"{', '.join(far)} in {engine_label(context)}, but the target has {n} layers: "
        f"{len(found.captured)} of {len(found.ids)} states of {spelled(found.ids)} are captured",
        "a layer that is not there is never captured, so fewer states arrive than fc was built for",
        "these ids count boundaries (the largest is the number of layers); write each one lower"
        if boundary_form
        else f"list layers from 0 to {n - 1}, as in training, or pair the draft with its own target",
    )


RULE = Rule(
    id="EC208",
    slug="capture-ids-beyond-depth",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=NEEDS,
    follows=FOLLOWS,
    research=("IDS-09", "IDS-17"),
)
