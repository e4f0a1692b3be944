"""Decoder layers in the config and in the files."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import blocks, draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """``num_hidden_layers`` must be the number of layer blocks in the files."""
    fact, draft, held = draft_class(ctx), draft_config(ctx), blocks(ctx)
    layers = draft.integer("num_hidden_layers")
    if fact is None or layers is None or not held:
        yield NotApplicable()
        return
    count, filled = len(held), sum(index < layers for index in held)
    if count == filled == layers:
        return
    assert ctx.draft is not None
    if max(held) >= count:
        yield _misnumbered(ctx, held, layers)
        return
    blank = layers - filled
    yield Finding(
        f"num_hidden_layers must be {count}, the layer{'s' if count > 1 else ''} in the draft's files, but "
        f"is {layers}",
        path=ctx.where("draft", "checkpoint"),
        why=f"SGLang builds {layers} layers and does not check for missing tensors: {blank} of them keep "
        "uninitialised memory"
        if blank > 0
        else f"SGLang builds {layers} and drops the rest of the trained layers, and nothing says so",
        help=f'write "num_hidden_layers": {count} into {draft.file}',
        evidence=(
            config_line(draft, "num_hidden_layers", "layers that SGLang builds"),
            Evidence(ctx.draft.shown, "layers in the files", ", ".join(map(str, sorted(held)[:6]))),
        ),
        values={"num_hidden_layers": layers, "layers_in_files": count},
        arithmetic=(f"{layers} - {layers - blank} = {blank} layers without weights",) if blank > 0 else (),
    )


def _misnumbered(ctx: Context, held: set[int], layers: int) -> Finding:
    """Of layers whose numbers do not run from 0: no value of num_hidden_layers fits them."""
    assert ctx.draft is not None
    draft, count = draft_config(ctx), len(held)
    numbers = ", ".join(map(str, sorted(held)[:6])) + (", ..." if count > 6 else "")
    blank = [index for index in range(layers) if index not in held]
    lost = sum(index >= layers for index in held)
    return Finding(
        f"the draft's files must hold {_run(count)}, but what they hold is numbered {numbers}",
        path=ctx.where("draft", "checkpoint"),
        why=f"SGLang builds {_run(layers)}, as num_hidden_layers says, without a look for missing tensors: "
        + " and ".join(
            [
                *([f"layer {blank[0]} keeps uninitialised memory"] if blank else []),
                *(
                    [
                        f"{lost} of the trained layers are dropped"
                        if lost > 1
                        else "a trained layer is dropped"
                    ]
                    if lost
                    else []
                ),
            ]
        ),
        help="save the draft with its layers numbered from 0"
        + ("" if count == layers else f', and write "num_hidden_layers": {count} into {draft.file}'),
        evidence=(
            config_line(draft, "num_hidden_layers", "layers that SGLang builds, numbered from 0"),
            Evidence(ctx.draft.shown, "layers in the files", numbers),
        ),
        values={"num_hidden_layers": layers, "layers_in_files": count, "numbers": sorted(held)[:10]},
    )


def _run(count: int) -> str:
    return "layer 0" if count == 1 else f"layers 0 to {count - 1}"


RULE = Rule(
    id="EC228",
    slug="layer-blocks",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=("EC229", "EC262", *UNLOADABLE),
    research=("SHP-20",),
)
