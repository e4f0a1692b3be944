"""An empty list of ids switches capture on and captures nothing."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import draft_config, ids_path, in_block, key_line
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """The list in ``eagle_config`` must name at least one layer, or be absent."""
    draft = draft_config(context)
    listed = in_block(draft)
    if listed is None or listed.ids != ():
        return
    yield Finding(
        f"{draft.file}: {listed.key} is empty, so {engine_label(context)} captures no state for the draft",
        path=ids_path(context),
        why="an empty list is not the same as none: the engine does not fall back to its default and "
        "fails when it unpacks the states that are not there",
        help=f"list the layers that the draft was trained on, or remove {listed.key} to get the default",
        evidence=(key_line(draft, listed, "empty"),),
        values={"ids": []},
    )


RULE = Rule(
    id="EC214",
    slug="capture-ids-empty",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC202", *UNLOADABLE),
    research=("IDS-19",),
)
