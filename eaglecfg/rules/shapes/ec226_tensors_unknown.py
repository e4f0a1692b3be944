"""Tensors in the files that the engine has no place for."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.quantization import declared
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed, tensor_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.expected import OPTIONAL_NORMS, unknown_names, wiring
from eaglecfg.rules.shapes.tensors import draft_config, plain

HARMLESS = ("rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_emb.sin_cached")
"""Buffers that every engine computes itself."""

ATTENTION_EXTRAS = (
    *(f"self_attn.{part}_proj.bias" for part in "qkvo"),
    "self_attn.q_norm.weight",
    "self_attn.k_norm.weight",
)
"""Parts of attention that the draft classes do not have; a rule of its own reports them."""


def check(ctx: Context) -> Iterator[Item]:
    """No tensor of the draft should be dropped on loading."""
    built = wiring(ctx)
    if built is None:
        yield NotApplicable()
        return
    layers = draft_config(ctx).integer("num_hidden_layers") or 1
    assert ctx.draft is not None
    quantized = declared(ctx.draft) is not None
    stray = [name for name in unknown_names(ctx, built) if not _accounted(plain(name), layers, quantized)]
    if not stray:
        return
    tensors = [ctx.draft.tensors[name] for name in stray[:3] if name in ctx.draft.tensors]
    warned = ctx.engine is not None and (
        ctx.engine.drafts[draft_config(ctx).architecture or ""].unknown == "warned"
    )
    yield Finding(
        f"SGLang has no place for {len(stray)} of the draft's tensors: {listed(stray)}",
        path=ctx.where("draft", "checkpoint"),
        why="they are dropped while loading, "
        + ("with a line in the log" if warned else "and nothing says so")
        + "; if training used them, the draft computes something else",
        help="check with the trainer what they are for; leave them out of the files if they are not needed",
        evidence=tuple(tensor_line(tensor, "dropped") for tensor in tensors)
        or tuple(Evidence(ctx.draft.shown, name, "present", "dropped") for name in stray[:3]),
        values={"tensors": stray[:10], "count": len(stray)},
    )


def _accounted(name: str, layers: int, quantized: bool) -> bool:
    """Whether another rule speaks of this tensor, or nobody needs to."""
    if name.endswith((*HARMLESS, *ATTENTION_EXTRAS)) or name.startswith((*OPTIONAL_NORMS, "fc.")):
        return True
    parts = name.split(".")
    if parts[0] == "layers" and parts[1:] and parts[1].isdigit() and int(parts[1]) >= layers:
        return True
    return quantized and parts[-1] not in ("weight", "bias")


RULE = Rule(
    id="EC226",
    slug="tensors-unknown",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_NAMES),
    follows=("EC223", "EC228", "EC229", "EC262", "EC268", *UNLOADABLE),
    research=("SHP-05",),
)
