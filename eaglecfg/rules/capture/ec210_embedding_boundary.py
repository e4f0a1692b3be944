"""The embedding (boundary 0) can be captured only by some target classes and versions."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import target_config
from eaglecfg.rules.capture.reach import FOLLOWS, NEEDS, finding, reason
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Boundary 0 may be asked for only where the target class captures it."""
    found = context.boundaries
    assert found is not None
    if reason(context) != "embedding" or found.ids is None or 0 not in found.shifted:
        return
    first = found.ids[found.shifted.index(0)]
    yield finding(
        context,
        f"id {first} means boundary 0, the embedding, which {engine_label(context)} cannot capture for "
        f"{target_config(context).architecture}",
        "before the first layer there is no residual to add",
        "use a draft that was trained on boundaries from 1 on",
    )


RULE = Rule(
    id="EC210",
    slug="embedding-not-captured",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=NEEDS,
    follows=FOLLOWS,
    research=("IDS-15", "VER-04"),
)
