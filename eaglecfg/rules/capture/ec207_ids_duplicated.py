"""A layer listed twice is captured once."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import counted, spelled
from eaglecfg.rules.capture.reach import FOLLOWS, NEEDS, finding, reason
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """The ids must differ from each other."""
    found = context.boundaries
    assert found is not None
    if reason(context) != "duplicate" or found.ids is None:
        return
    twice = sorted({i for i in found.ids if found.ids.count(i) > 1})
    yield finding(
        context,
        f"capture ids {spelled(found.ids)} list {', '.join(map(str, twice))} more than once; "
        f"{engine_label(context)} captures {counted(len(found.captured), 'state')} where fc expects "
        f"{len(found.ids)}",
        "a layer is marked once however often it is listed, so the states are narrower than fc",
        "list each layer once, as in training",
    )


RULE = Rule(
    id="EC207",
    slug="capture-ids-duplicated",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=NEEDS,
    follows=FOLLOWS,
    research=("IDS-13",),
)
