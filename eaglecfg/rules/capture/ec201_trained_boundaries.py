"""The draft must be fed the boundaries that it was trained on."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.elsewhere import captures_of, graphs_remark, ids_for, versions_capturing
from eaglecfg.rules.capture.ids import (
    depth_line,
    draft_config,
    engine_line,
    ids_line,
    layers,
    shift_lines,
    spelled,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.source.span import KeyPath


def check(context: Context) -> Iterator[Item]:
    """Compare what the engine captures with what the draft was trained on, in order."""
    found, trained = context.boundaries, context.trained
    assert found is not None
    assert trained is not None
    if found.outcome != "captured":
        yield NotApplicable()  # a rule of its own says what goes wrong
        return
    if found.captured == trained:
        return
    target, draft, n = target_config(context), draft_config(context), layers(context)
    path, related = _places(context)
    others = versions_capturing(context, found.ids, n, trained) if n is not None else ""
    yield Finding(
        ("same files, other layers: " if others else "")
        + f"the draft was trained on boundaries {spelled(trained)}, but {engine_label(context)} captures "
        f"{spelled(found.captured)}{_relation(found.captured, trained)}",
        path=path,
        why="the server stays healthy and its answers stay right; the accept length falls, and decoding "
        "can get slower than without speculation",
        help=_help(context, trained, others),
        evidence=(
            ids_line(draft, "ids as the engine reads them"),
            *_record_line(context),
            depth_line(target, "depth of the target"),
            engine_line(context),
        ),
        related=related,
        values={
            "ids": list(found.ids) if found.ids is not None else None,
            "effective_boundaries": list(found.captured),
            "trained_boundaries": list(trained),
            "offset": found.offset,
        },
        arithmetic=shift_lines(found.ids, found.shifted, layers(context)),
    )


def _places(context: Context) -> tuple[KeyPath, tuple[tuple[KeyPath, str], ...]]:
    found, n = context.boundaries, layers(context)
    assert found is not None
    related: tuple[tuple[KeyPath, str], ...] = ()
    everywhere = captures_of(context, found.ids, n).values() if n is not None else ()
    if len({got for got in everywhere if got is not None}) > 1:
        related = ((("engine", "version"), "other versions capture other layers for the same files"),)
    if context.model.capture.trained_boundaries is not None:
        return context.where("capture", "trained_boundaries"), related
    return context.where("draft", "checkpoint"), related


def _record_line(context: Context) -> tuple[Evidence, ...]:
    if context.training is None or context.draft is None:
        return ()
    name = f"{context.draft.shown}/eaglecfg-training.json"
    return (Evidence(name, "boundaries", spelled(context.training.boundaries), "recorded at training"),)


def _relation(captured: tuple[int, ...], trained: tuple[int, ...]) -> str:
    if sorted(captured) == sorted(trained):
        return ": the same layers, but fc's column blocks are in another order"
    if len(captured) != len(trained):
        return f": {len(captured)} instead of {len(trained)}"
    steps = {got - want for got, want in zip(captured, trained, strict=True)}
    if steps == {1}:
        return ", each one layer late"
    return ", each one layer early" if steps == {-1} else ""


def _help(context: Context, trained: tuple[int, ...], others: str) -> str:
    found, n = context.boundaries, layers(context)
    assert found is not None
    if n is None:
        return ""
    parts = []
    wanted = tuple(sorted(set(trained)))
    if wanted != trained:
        parts.append(
            "SGLang hands states on in ascending order: permute the column blocks of fc.weight to that order"
        )
    fitting = ids_for(context, n, wanted)
    if fitting is not None and fitting.ids != found.ids:
        where = f" (captures {spelled(wanted)} in sglang {fitting.versions})" if fitting.versions else ""
        parts.append(
            f"write {spelled(fitting.ids)} as eagle_config.eagle_aux_hidden_state_layer_ids in the draft's "
            f"config.json{where}{graphs_remark(context, fitting)}"
        )
    elif fitting is None:
        parts.append(
            f"no list of ids makes {engine_label(context)} capture {spelled(wanted)} for this target"
        )
    if others:
        parts.append(f"or keep the files and run sglang {others}, which captures {spelled(trained)} for them")
    if fitting is not None:
        parts.append("do not write them in json_model_override_args, which changes the target's config too")
    return "; ".join(parts)


RULE = Rule(
    id="EC201",
    slug="trained-boundaries",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE, Need.TRAINED),
    follows=("EC107", "EC202", "EC203", "EC206", "EC212", "EC220", *UNLOADABLE),
    research=("IDS-06", "IDS-07", "IDS-08", "IDS-10", "IDS-11", "IDS-28", "VER-05"),
)
