"""The first draft layer reads embedding and state side by side."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import by_plain_name, draft_class, draft_config

NAMES = ("q_proj", "k_proj", "v_proj", "q_a_proj", "kv_a_proj_with_mqa")


def check(ctx: Context) -> Iterator[Item]:
    """q, k and v of layer 0 must have 2 × hidden_size columns."""
    hidden, tensors = draft_config(ctx).integer("hidden_size"), by_plain_name(ctx)
    first = [tensors[name] for part in NAMES if (name := f"layers.0.self_attn.{part}.weight") in tensors]
    first = [tensor for tensor in first if len(tensor.shape) == 2]
    if draft_class(ctx) is None or hidden is None or not first:
        yield NotApplicable()
        return
    # Another width than one or two is a matter of hidden_size, which other tensors show as well.
    single = [tensor for tensor in first if tensor.shape[1] == hidden]
    if not single:
        return
    yield Finding(
        f"the draft's first layer must read 2 × {hidden} = {2 * hidden} columns, but {single[0].name} has "
        f"{hidden}",
        path=ctx.where("draft", "checkpoint"),
        why="an EAGLE-3 draft puts embedding and state side by side; a layer of one width is an EAGLE-1 "
        "layer, and the load "
        "stops at its shape",
        help="use a draft trained for EAGLE-3; weights cannot be widened afterwards",
        evidence=(
            *(tensor_line(tensor, f"{hidden} columns") for tensor in single[:3]),
            config_line(draft_config(ctx), "hidden_size"),
        ),
        values={"columns": hidden, "expected": 2 * hidden},
        arithmetic=(f"2 × {hidden} = {2 * hidden}",),
    )


RULE = Rule(
    id="EC224",
    slug="first-layer-width",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=UNLOADABLE,
    research=("SHP-06",),
)
