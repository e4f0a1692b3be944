"""Fewer GPUs shown to the server than its ranks need."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import devices, unsettled

NAME = "CUDA_VISIBLE_DEVICES"


def check(ctx: Context) -> Iterator[Item]:
    """Every rank of a host needs a GPU of its own among those that the list shows."""
    text = ctx.variable(NAME)
    if text is None or ctx.argument("device") not in (None, "cuda"):
        yield NotApplicable()
        return
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    from eaglecfg.nccl.devices import visible

    hardware, hosts = ctx.model.hardware, ctx.model.parallel.nnodes or 1
    count = hardware.count if hardware is not None else None
    seen = visible(text, count if count is None or count > 0 else None)
    taken = devices(ctx)
    each, last = taken.ranks, taken.needed
    if len(seen.entries) >= last:
        return
    shown = len(seen.entries)
    what = f"{each} rank{'s' * (each != 1)}" + (" on each host" if hosts > 1 else "")
    yield Finding(
        f"{NAME}={text or repr('')} shows the server {shown or 'no'} GPU{'s' * (shown != 1)}, "
        f"and its {what} need {last}",
        path=ctx.where("env", NAME),
        why=seen.why or "a rank whose GPU is not there stops the server",
        help=f"list {last} GPUs by index, such as {','.join(map(str, range(last)))}, or lower tp_size",
        related=((ctx.where("parallel", "tp_size"), "the ranks"),),
        values={"shown": list(seen.entries), "needed": last},
    )


RULE = Rule(
    id="EC641",
    slug="visible-devices-count",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    follows=("EC409",),
)
