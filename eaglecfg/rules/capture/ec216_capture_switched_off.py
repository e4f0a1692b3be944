"""``use_aux_hidden_state: false`` switches capture off and leaves fc unused."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.checkpoint.locate import locate
from eaglecfg.rules.capture.ec212_state_count import fusion
from eaglecfg.rules.capture.ids import BLOCK, draft_config, ids_path, target_config
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import shown, tensor_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import wiring

KEY = "use_aux_hidden_state"


def check(context: Context) -> Iterator[Item]:
    """A draft whose fc takes several states must not switch their capture off."""
    draft, fc = draft_config(context), fusion(context)
    width = target_config(context).integer("hidden_size")
    block = draft.raw.get(BLOCK)
    assert context.engine is not None
    if not isinstance(block, dict) or block.get(KEY, True) or fc is None or not width:
        return
    if not context.engine.values["capture_honours_use_aux"]:
        return  # this version captures all the same
    built = wiring(context)
    if built is not None and tuple(fc.shape) == (width, width) == built.fc_shape:
        yield _unused(context, draft, fc, width)
    if len(fc.shape) != 2 or fc.shape[1] < 2 * width:
        return
    states, hidden = fc.shape[1] // width, draft.integer("hidden_size")
    place = locate(draft, f"{BLOCK}.{KEY}") or (None, None)
    effect = (
        "the final hidden state arrives alone, has the draft's own width, and fc is skipped without a message"
        if hidden == width
        else "the final hidden state arrives alone and does not fit fc"
    )
    yield Finding(
        f"{draft.file}: {BLOCK}.{KEY} is {shown(block[KEY])}, but fc.weight takes {states} captured states "
        f"({fc.shape[1]} = {states} × {width})",
        path=ids_path(context),
        today=Today.SILENT if hidden == width else Today.CRASH_AT_FIRST_REQUEST,
        why=f"{engine_label(context)} then captures nothing: {effect}",
        help=f"set {BLOCK}.{KEY} to true in the draft's config.json, or remove the key",
        evidence=(
            Evidence(draft.file, f"{BLOCK}.{KEY}", shown(block[KEY]), "capture off", *place),
            tensor_line(fc, f"{fc.shape[1]} = {states} × {width}"),
        ),
        values={KEY: block[KEY], "fc_input_width": fc.shape[1], "target_hidden_size": width},
        arithmetic=(f"{fc.shape[1]} ÷ {width} = {states}",),
    )


def _unused(context: Context, draft: ModelConfig, fc: TensorFact, width: int) -> Finding:
    """An fc for one state of the draft's own width: the engine builds and loads it, and goes past it."""
    place = locate(draft, f"{BLOCK}.{KEY}") or (None, None)
    return Finding(
        f"{draft.file}: {BLOCK}.{KEY} is false, so one state of width {width} arrives, which is the draft's "
        f"own width, and {engine_label(context)} skips fc.weight",
        path=ids_path(context),
        why="the engine applies fc only where the width differs from the draft's; the draft then reads a "
        "state that its fc never saw, without a message",
        help="use a draft that was trained on two or more states, or one without fc",
        evidence=(
            Evidence(draft.file, f"{BLOCK}.{KEY}", "false", "one state", *place),
            tensor_line(fc, "never used"),
        ),
        values={KEY: False, "fc_input_width": width, "target_hidden_size": width},
        arithmetic=(f"1 × {width} = {width}",),
    )


RULE = Rule(
    id="EC216",
    slug="capture-switched-off",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=UNLOADABLE,
    research=("IDS-25",),
)
