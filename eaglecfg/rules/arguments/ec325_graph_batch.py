"""EC325: CUDA graphs for fewer requests than may run at once."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import write

FLAGS = ("cuda_graph_max_bs", "cuda_graph_max_bs_decode")


def check(ctx: Context) -> Iterator[Item]:
    flag = next((name for name in FLAGS if isinstance(ctx.argument(name), int)), None)
    given = ctx.argument("max_running_requests")
    running = given
    if given is None and ctx.engine is not None:
        running = ctx.engine.values.get("max_running_requests")  # what speculation sets it to
    if flag is None or not isinstance(running, int) or algorithm(ctx) not in EAGLE_FAMILY:
        yield NotApplicable()
        return
    captured = ctx.argument(flag)
    if captured >= running or ctx.argument("disable_cuda_graph") is True:
        return
    yield Finding(
        f"{flag} {captured} is below max_running_requests {running}"
        f"{'' if given is not None else ' (set by speculation)'}, so that larger batches run without "
        "CUDA graphs",
        path=ctx.argument_path(flag),
        # Nobody asked for so many at once.
        severity=None if given is not None else Severity.INFO,
        why="draft steps are short, and without graphs launching them costs more than they save: slower "
        "than plain decoding",
        help=f"write {flag}: {running}, or leave it out"
        if given is not None
        else f"write max_running_requests: {captured} if no more are served at once, else leave {flag} out",
        related=((ctx.argument_path("max_running_requests"), f"{running} requests may run"),)
        if given is not None
        else (),
        fix=write(ctx, flag, running) if given is not None else None,
        values={flag: captured, "max_running_requests": running},
    )


RULE = Rule(
    id="EC325",
    slug="graph-batch",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("MEM-05",),
)
