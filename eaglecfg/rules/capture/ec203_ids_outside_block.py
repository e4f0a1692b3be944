"""Capture ids at the top level of the draft's config.json do not choose what the engine captures."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.draft_graphs import graph_width, recorded
from eaglecfg.record import record
from eaglecfg.rules.capture.ec212_state_count import fusion
from eaglecfg.rules.capture.elsewhere import graphs_remark, ids_for
from eaglecfg.rules.capture.ids import (
    BLOCK,
    KEY,
    at_top,
    counted,
    depth_line,
    draft_config,
    engine_line,
    ids_path,
    in_block,
    key_line,
    layers,
    spelled,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import wiring


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
    readings = tuple(sorted(ids)), tuple(sorted(i + 1 for i in ids))
    harmless = captured == trained if trained is not None else captured in readings
    clash = _clash(context, ids, len(captured))
    label = engine_label(context)
    yield Finding(
        f"{context.draft.shown if context.draft else ''}/config.json lists capture ids {spelled(ids)} "
        f"outside {BLOCK}; whatever they say, {label} captures its default {spelled(captured)}, "
        f"{_instead(ids, trained, harmless, clash)}",
        path=ids_path(context),
        severity=Severity.INFO if harmless and clash is None else Severity.ERROR,
        today=clash.today if clash is not None else Today.IGNORED if harmless else Today.SILENT,
        why=_why(context, clash),
        help=_help(context, trained, ids),
        evidence=(
            key_line(draft, top, "chooses no layers"),
            depth_line(target_config(context), "depth of the target"),
            engine_line(context),
        ),
        values={
            "top_level_ids": list(ids),
            "effective_boundaries": list(captured),
            "trained_boundaries": list(trained) if trained is not None else None,
        },
    )


@record
class _Clash:
    """What the engine builds for the states that the list counts, where others arrive, and what becomes of
    it."""

    builds: str
    today: Today


def _clash(context: Context, ids: tuple[int, ...], captured: int) -> _Clash | None:
    """Where the length of the list does harm, whatever the layers are."""
    built = wiring(context)
    if built is None or len(ids) == captured or context.engine is None or context.resolution is None:
        return None
    counted_states = counted(len(ids), "state")
    if built.states_from == KEY:
        fc = fusion(context)
        loads = fc is None or fc.shape[-1:] == (built.fc_in,)
        today = Today.CRASH_AT_FIRST_REQUEST if loads else Today.CRASH_AT_START
        return _Clash(f"builds fc for the {counted_states} of the list", today)
    target, draft = target_config(context), draft_config(context)
    width = graph_width(context.engine, target, draft)
    if width is None or width.counted_by != KEY or width.features == built.fc_in:
        return None
    if not recorded(context.engine, context.resolution, target, draft, context.model.env).runs:
        return None
    return _Clash(
        f"records the draft's CUDA graphs with the {counted_states} of the list", Today.CRASH_AT_START
    )


def _instead(
    ids: tuple[int, ...], trained: tuple[int, ...] | None, harmless: bool, clash: _Clash | None
) -> str:
    """What the default is to what was meant: by the training where that is known, else by the list."""
    if trained is not None:
        by = "which is what" if harmless else f"not {spelled(trained)}, on which"
        by += " the draft was trained" + (" on" if harmless else "")
    elif harmless:
        by = "which happens to be what the list means"
    else:
        by = f"not {spelled(sorted(i + 1 for i in ids))} or {spelled(sorted(ids))}"
    return by if clash is None else f"{by}, but {clash.builds}"


def _why(context: Context, clash: _Clash | None) -> str:
    """Who reads the list and who does not, in this version."""
    sized = _sized(context)
    if not sized:
        return (
            "other engines read this list at the top level, SGLang only inside eagle_config, and it says "
            "nothing"
        )
    ends = "the sizes do not fit" if clash is not None else "says nothing"
    return (
        f"other engines read this list at the top level; SGLang sizes {sized} by its length and looks for "
        f"the layers inside eagle_config only, and {ends}"
    )


def _sized(context: Context) -> str:
    """What this version sizes by the length of the list; empty where it does not look at the list at all."""
    built = wiring(context)
    assert context.engine is not None
    of_graphs = context.engine.values.get("draft_graph_width")
    sized = []
    if built is not None and KEY in built.fact.count_keys:
        sized.append("fc")
    if of_graphs is not None and of_graphs["of"] == "draft" and KEY in of_graphs["keys"]:
        sized.append("the draft's CUDA graphs")
    return " and ".join(sized)


def _help(context: Context, trained: tuple[int, ...] | None, ids: tuple[int, ...]) -> str:
    """Where to put the list, and as which numbers: of the training, else of both readings."""
    n = layers(context)

    def written(boundaries: tuple[int, ...]) -> str | None:
        fitting = ids_for(context, n, boundaries) if n is not None else None
        return None if fitting is None else spelled(fitting.ids)

    if trained is not None:
        fitting = ids_for(context, n, trained) if n is not None else None
        numbers = "[...]" if fitting is None else spelled(fitting.ids)
        mind = "" if fitting is None else graphs_remark(context, fitting)
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
