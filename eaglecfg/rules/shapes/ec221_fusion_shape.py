"""The weight of fc against what the engine builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.wiring import Wiring
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import pairs, wiring
from eaglecfg.rules.shapes.tensors import draft_config


def check(ctx: Context) -> Iterator[Item]:
    """fc.weight must be [draft hidden, states × width of a state]."""
    built = wiring(ctx)
    pair = next((p for p in pairs(ctx, built) if p.name == "fc.weight"), None) if built is not None else None
    if built is None or pair is None or pair.found is None or None in pair.expected.shape:
        yield NotApplicable()
        return
    wanted, found = pair.expected.shape, pair.found.shape
    if found == wanted:
        return
    draft = draft_config(ctx)
    states, width = built.states, built.state_width
    yield Finding(
        f"fc.weight must be [{wanted[0]}, {wanted[1]}], but the draft's file has {list(found)}",
        path=ctx.where("draft", "checkpoint"),
        why="SGLang builds fc from the config and stops with a size assertion while it loads the weight",
        help=_advice(draft, built, found),
        evidence=(
            tensor_line(pair.found),
            config_line(draft, "hidden_size", "rows of fc"),
            *(
                (config_line(draft, "target_hidden_size", "width of one state"),)
                if draft.find("target_hidden_size")
                else ()
            ),
        ),
        values={"expected": list(wanted), "found": list(found)},
        arithmetic=(f"{states} × {width} = {wanted[1]}",),
    )


def _advice(draft: ModelConfig, built: Wiring, found: Sequence[int]) -> str:
    if tuple(found) == tuple(reversed(built.fc_shape)):
        return (
            "save fc.weight transposed: torch keeps a linear layer as [outputs, inputs], "
            f"[{found[1]}, {found[0]}]"
        )
    block = draft.raw.get("eagle_config")
    off = isinstance(block, dict) and block.get("use_aux_hidden_state", True) is False
    if off and len(found) == 2 and found[1] == built.state_width:
        return (
            f"use another draft: this one fuses a single state (use_aux_hidden_state is false), and SGLang "
            f"builds fc for {built.states} whatever that key says"
        )
    return f"check hidden_size, target_hidden_size and the layer ids in {draft.file} against the training run"


RULE = Rule(
    id="EC221",
    slug="fusion-shape",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=(
        "EC202",
        "EC203",
        "EC212",
        "EC213",
        "EC214",
        "EC216",
        "EC217",
        "EC219",
        "EC222",
        "EC262",
        *UNLOADABLE,
    ),
    research=("SHP-02", "IDS-21"),
)
