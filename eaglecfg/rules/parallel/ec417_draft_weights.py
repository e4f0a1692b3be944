"""A draft that does not fit into the memory that is left beside the cache."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from eaglecfg.checkpoint.dtypes import BITS
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.memory import bytes_of, gib
from eaglecfg.rules.parallel.ranks import ranks, unsettled


def check(ctx: Context) -> Iterator[Item]:
    """Bytes of the draft on one rank, at the least, against what mem_fraction_static leaves free."""
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    assert ctx.engine is not None
    assert ctx.draft is not None
    hardware, fraction = ctx.model.hardware, ctx.argument("mem_fraction_static")
    memory = bytes_of(hardware.gpu_memory) if hardware is not None and hardware.gpu_memory else None
    early = ctx.engine.values.get("cache_before_draft")
    if not early or memory is None or not isinstance(fraction, int | float) or not 0 < fraction < 1:
        yield NotApplicable()
        return
    shared = ranks(ctx).tensor
    least = sum(
        prod(tensor.shape) * BITS[tensor.dtype] // 8
        for name, tensor in ctx.draft.tensors.items()
        if "embed_tokens" not in name and tensor.dtype in BITS
    ) // max(shared, 1)
    left = int(memory * (1 - fraction))
    if least <= left:
        return
    yield Finding(
        f"the draft needs at least {gib(least)} on each GPU, but mem_fraction_static {fraction} leaves "
        f"{gib(left)} beside the target and the cache",
        path=ctx.argument_path("mem_fraction_static"),
        why=f"sglang {ctx.engine.version} fills the cache before it loads the draft, and runs out of memory",
        help="lower mem_fraction_static, or run 0.5.14 or later, which loads the draft first",
        evidence=(
            Evidence(
                f"sglang {ctx.engine.facts_of}",
                "mem_fraction_static",
                ctx.engine.sources.get("cache_before_draft", ""),
            ),
        ),
        related=((ctx.where("hardware", "gpu_memory"), "memory of one GPU"),),
        arithmetic=(f"{gib(memory)} × (1 − {fraction}) = {gib(left)}",),
        values={"draft_bytes": least, "left_bytes": left},
    )


RULE = Rule(
    id="EC417",
    slug="draft-weights-unreserved",
    severity=Severity.WARNING,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_TENSORS),
    follows=("EC301", "EC303", *UNLOADABLE),
    research=("MEM-03", "MEM-04"),
)
