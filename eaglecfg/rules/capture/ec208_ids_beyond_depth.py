"""An id beyond the target's depth names a layer that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.elsewhere import graphs_remark, ids_for
from eaglecfg.rules.capture.ids import layers, spelled
from eaglecfg.rules.capture.reach import FOLLOWS, NEEDS, finding, reason
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Every boundary must be at most the number of layers."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if reason(context) != "beyond" or found.ids is None or n is None:
        return
    pairs = zip(found.ids, found.shifted, strict=True)
    far = [f"id {i} means boundary {boundary}" for i, boundary in pairs if boundary > n]
    yield finding(
        context,
        f"{', '.join(far)} in {engine_label(context)}, but the target has {n} layers; "
        f"capture ids are {spelled(found.ids)}",
        "a layer that is not there is never captured, so fewer states arrive than fc was built for",
        _help(context, found.ids, n),
    )


def _help(context: Context, ids: tuple[int, ...], n: int) -> str:
    """Ids that end with the number of layers count boundaries; say how to write them for this version."""
    if max(ids) != n:
        return f"list layers from 0 to {n - 1}, as in training, or pair the draft with its own target"
    wanted = context.trained or tuple(sorted(ids))
    fitting = ids_for(context, n, wanted)
    meant = f"these ids count boundaries, as the largest is the number of layers; {spelled(wanted)}"
    if fitting is None:
        return f"{meant} is out of reach of this version whatever the ids are"
    return f"{meant} is written {spelled(fitting.ids)} for this version{graphs_remark(context, fitting)}"


RULE = Rule(
    id="EC208",
    slug="capture-ids-beyond-depth",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=NEEDS,
    follows=("EC816", *FOLLOWS),
    research=("IDS-09", "IDS-17"),
)
