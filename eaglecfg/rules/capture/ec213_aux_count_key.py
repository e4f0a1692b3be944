"""``num_aux_hidden_states`` sizes fc, but the ids decide how many states arrive."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import (
    counted,
    draft_config,
    engine_line,
    ids_line,
    ids_path,
    spelled,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today

COUNT = "num_aux_hidden_states"


def check(context: Context) -> Iterator[Item]:
    """The key, where the draft has it, must be the number of captured states."""
    found, draft = context.boundaries, draft_config(context)
    assert found is not None
    assert context.engine is not None
    fact = context.engine.drafts.get(draft.architecture or "")
    asked = draft.integer(COUNT)
    if fact is not None and COUNT not in fact.count_keys:
        return  # this class does not size fc by the key; EC904 looks at what else does
    if asked is None or found.outcome != "captured" or asked == len(found.captured):
        return
    origin = "its default" if found.ids is None else "the listed"
    yield Finding(
        f"num_aux_hidden_states is {asked}, but {engine_label(context)} captures {origin} "
        f"{counted(len(found.captured), 'state')} {spelled(found.captured)}",
        path=ids_path(context),
        why=f"fc is built for {counted(asked, 'state')} and multiplied with {len(found.captured)}: the "
        "sizes do not fit",
        help=f"list the {asked} layers of training as eagle_config.eagle_aux_hidden_state_layer_ids, or set "
        f"num_aux_hidden_states to {len(found.captured)}",
        evidence=(
            config_line(draft, COUNT, "sizes fc"),
            ids_line(draft, "decides what is captured"),
            engine_line(context),
        ),
        values={"num_aux_hidden_states": asked, "captured_states": len(found.captured)},
        arithmetic=(f"{asked} expected, {len(found.captured)} captured",),
    )


RULE = Rule(
    id="EC213",
    slug="num-aux-hidden-states",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=("EC202", "EC203", "EC216", *UNLOADABLE),
    research=("IDS-22",),
)
