"""Two lists of capture ids in one config.json mean different layers to different engines."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import (
    BLOCK,
    KEY,
    at_top,
    draft_config,
    ids_path,
    in_block,
    key_line,
    spelled,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """The list in ``eagle_config`` and the one at the top level must come to the same boundaries."""
    draft, found = draft_config(context), context.boundaries
    top, block = at_top(draft), in_block(draft)
    if top is None or block is None or top.ids is None or block.ids is None:
        return
    if top.ids == block.ids or (found is not None and top.ids == found.captured):
        # The second is a careful pair: boundaries for engines that add nothing, outputs for SGLang.
        return
    yield Finding(
        f"{draft.file} lists capture ids twice: {spelled(block.ids)} as {block.key}, {spelled(top.ids)} "
        f"as {KEY} at the top level; {engine_label(context)} follows {BLOCK}",
        path=ids_path(context),
        why="an engine that reads the top level first captures other layers for the same draft, and "
        "nothing tells which list the draft was trained with",
        help="find out which layers the draft was trained on, keep that list and remove the other; "
        "capture.trained_boundaries makes eaglecfg check it",
        evidence=(key_line(draft, block, "read by SGLang"), key_line(draft, top, "not read by SGLang")),
        values={"eagle_config_ids": list(block.ids), "top_level_ids": list(top.ids)},
    )


RULE = Rule(
    id="EC204",
    slug="two-capture-id-lists",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC201", "EC202", *UNLOADABLE),
    research=("IDS-03",),
)
