"""fc takes a fixed number of states; the engine must capture that many."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.rules.capture.elsewhere import graphs_remark, ids_for
from eaglecfg.rules.capture.ids import (
    counted,
    draft_config,
    engine_line,
    ids_line,
    ids_path,
    layers,
    spelled,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import wiring

FC_NAMES = ("fc.weight", "model.fc.weight")


def fusion(context: Context) -> TensorFact | None:
    """The weight of fc, [draft hidden, states × target hidden], if a header shows it."""
    tensors = context.draft.tensors if context.draft is not None else {}
    return next((tensors[name] for name in FC_NAMES if name in tensors), None)


def check(context: Context) -> Iterator[Item]:
    """Columns of fc ÷ width of one state = number of captured states."""
    found, fc = context.boundaries, fusion(context)
    target, draft = target_config(context), draft_config(context)
    width = target.integer("hidden_size")
    assert found is not None
    if found.outcome != "captured" or fc is None or len(fc.shape) != 2 or not width:
        yield NotApplicable()
        return
    own = draft.value("target_hidden_size", draft.integer("hidden_size"))
    hidden = draft.integer("hidden_size")
    if own != width or fc.shape[1] % width or (hidden is not None and fc.shape[0] != hidden):
        yield NotApplicable()  # another width or other rows: a rule about shapes says so
        return
    holds, captured = fc.shape[1] // width, len(found.captured)
    if holds == captured:
        return
    built = wiring(context)
    loads = built is not None and built.states == holds
    yield Finding(
        f"fc of the draft takes {holds} × {width} = {fc.shape[1]} features, but {engine_label(context)} "
        f"captures {counted(captured, 'state')} {spelled(found.captured)}, {captured} × {width} = "
        f"{captured * width}",
        path=ids_path(context),
        today=Today.CRASH_AT_FIRST_REQUEST if loads else Today.CRASH_AT_START,
        why="fc loads, and the first request hands it more or fewer features than it takes"
        if loads
        else "the engine builds fc for the states that it captures and stops while it loads a "
        "weight of another size",
        help=_help(context, holds),
        evidence=(
            tensor_line(fc, f"{fc.shape[1]} = {holds} × {width}"),
            ids_line(draft, f"{counted(captured, 'state')} captured"),
            config_line(target, "hidden_size", "width of one state"),
            engine_line(context),
        ),
        values={"fc_input_width": fc.shape[1], "captured_states": captured, "target_hidden_size": width},
        arithmetic=(f"{fc.shape[1]} ÷ {width} = {counted(holds, 'state')}, captured {captured}",),
    )


def _help(context: Context, holds: int) -> str:
    trained, n = context.trained, layers(context)
    key = "eagle_config.eagle_aux_hidden_state_layer_ids"
    if trained is not None and len(trained) == holds and n is not None:
        fitting = ids_for(context, n, sorted(set(trained)))
        if fitting is not None:
            return (
                f"write {spelled(fitting.ids)} as {key} in the draft's config.json, which captures what was "
                f"trained, {spelled(sorted(set(trained)))}{graphs_remark(context, fitting)}"
            )
    return f"list exactly {counted(holds, 'id')} in {key}, those of training"


RULE = Rule(
    id="EC212",
    slug="captured-state-count",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS, Need.CAPTURE),
    follows=(
        "EC202",
        "EC203",
        "EC213",
        "EC216",
        "EC217",
        "EC219",
        *UNLOADABLE,
    ),
    research=("IDS-21", "IDS-23"),
)
