"""Capture ids at the top level of the draft's config.json are not read by the engine."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.elsewhere import ids_for
from eaglecfg.rules.capture.ids import (
    BLOCK,
    KEY,
    at_top,
    depth_line,
    draft_config,
    engine_label,
    engine_line,
    ids_path,
    in_block,
    key_line,
    layers,
    spelled,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Where only the top level lists ids, say what the engine captures instead and whether that does
    harm."""
    draft, found = draft_config(context), context.boundaries
    assert found is not None
    top = at_top(draft)
    if top is None or not top.value or in_block(draft) is not None or found.outcome == "nothing":
        return
    ids = top.ids
    if ids is None:
        return  # nothing reads it, so nothing can be said about what it means
    captured, trained = found.captured, context.trained
    as_outputs = tuple(sorted(i + 1 for i in ids))
    harmless = captured == trained if trained is not None else captured in (tuple(sorted(ids)), as_outputs)
    meant = (
        f"{spelled(trained)}, on which the draft was trained"
        if trained is not None
        else f"{spelled(as_outputs)} or {spelled(sorted(ids))}"
    )
    label = engine_label(context)
    instead = "which happens to be what the list means" if harmless else f"not {meant}"
    yield Finding(
        f"{context.draft.shown if context.draft else ''}/config.json lists capture ids {spelled(ids)} "
        f"outside {BLOCK}; {label} does not read them and captures its default {spelled(captured)}, "
        f"{instead}",
        path=ids_path(context),
        severity=Severity.INFO if harmless else Severity.ERROR,
        today=Today.IGNORED if harmless else Today.SILENT,
        why="other engines read this list at the top level, SGLang only inside eagle_config, and it says "
        "nothing",
        help=_help(context, trained, ids),
        evidence=(
            key_line(draft, top, "not read"),
            depth_line(target_config(context), "depth of the target"),
            engine_line(context),
        ),
        values={
            "top_level_ids": list(ids),
            "effective_boundaries": list(captured),
            "trained_boundaries": list(trained) if trained is not None else None,
        },
    )


def _help(context: Context, trained: tuple[int, ...] | None, ids: tuple[int, ...]) -> str:
    """Where to put the list, and as which numbers: of the training, else of both readings."""
    n = layers(context)

    def written(boundaries: tuple[int, ...]) -> str | None:
        fitting = ids_for(context, n, boundaries) if n is not None else None
        return None if fitting is None else spelled(fitting[0])

    if trained is not None:
        numbers, mind = written(trained) or "[...]", ""
    else:
        ordered = tuple(sorted(ids))
        if_boundaries, if_outputs = written(ordered), written(tuple(i + 1 for i in ordered))
        numbers = if_boundaries or if_outputs or "[...]"
        mind = ", as layer outputs where SGLang adds 1"
        if if_boundaries:
            mind = " if the list counts boundaries (speculators, vLLM)"
            mind += f", {if_outputs} if it counts layer outputs" if if_outputs else ""
    return f'write "{BLOCK}": {{"{KEY}": {numbers}}}{mind}'


RULE = Rule(
    id="EC203",
    slug="capture-ids-outside-eagle-config",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=("EC202", *UNLOADABLE),
    research=("IDS-01", "IDS-02"),
)
