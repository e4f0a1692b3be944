"""One captured state of the draft's own width goes past fc."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ec212_state_count import fusion
from eaglecfg.rules.capture.ids import (
    draft_config,
    engine_line,
    ids_line,
    ids_path,
    spelled,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """The engine tells a fused state from raw ones by the width alone, so one raw state looks fused."""
    found, fc = context.boundaries, fusion(context)
    target, draft = target_config(context), draft_config(context)
    width = target.integer("hidden_size")
    assert found is not None
    if found.outcome != "captured" or len(found.captured) != 1 or width != draft.integer("hidden_size"):
        return
    yield Finding(
        f"one state {spelled(found.captured)} of width {width} is captured, which is the draft's own "
        f"width, so {engine_label(context)} skips fc",
        path=ids_path(context),
        why="the engine applies fc only where the width differs from the draft's; the draft then reads a "
        "state that its fc never saw, without a message",
        help="use a draft that was trained on two or more states",
        evidence=(
            *((tensor_line(fc, "never used"),) if fc is not None else ()),
            ids_line(draft, "one state"),
            config_line(target, "hidden_size", "width of the state"),
            config_line(draft, "hidden_size", "the draft's own width"),
            engine_line(context),
        ),
        values={"captured_states": 1, "target_hidden_size": width, "hidden_size": width},
        arithmetic=(f"1 × {width} = {width}",),
    )


RULE = Rule(
    id="EC217",
    slug="fusion-skipped",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=(
        "EC202",
        "EC203",
        "EC213",
        "EC216",
        *UNLOADABLE,
    ),
    research=("IDS-26",),
)
