"""The default boundaries of a shallow target fall on each other."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import counted, layers, spelled
from eaglecfg.rules.capture.reach import FOLLOWS, NEEDS, finding, reason
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Without ids the engine's default must give distinct boundaries that exist."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if reason(context) != "default":
        return
    yield finding(
        context,
        f"the draft lists no capture ids and the target has {n} layers, for which the default of "
        f"{engine_label(context)} is {spelled(found.shifted)}: "
        f"{counted(len(set(found.captured)), 'state')} instead of {len(found.shifted)}"
        if len(set(found.captured)) < len(found.shifted)
        else f"the draft lists no capture ids and the target has {n} layers, for which the default of "
        f"{engine_label(context)} is {spelled(found.shifted)}, which it cannot capture",
        "boundaries that fall together are captured once, so the states are narrower than fc",
        "write the layers that the draft was trained on as eagle_config.eagle_aux_hidden_state_layer_ids",
    )


RULE = Rule(
    id="EC215",
    slug="default-boundaries-collide",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=NEEDS,
    follows=FOLLOWS,
    research=("IDS-18",),
)
