"""EC325: CUDA graphs for fewer requests than may run at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.engines.numerals import whole
from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import write

if TYPE_CHECKING:
    from eaglecfg.engines.decode_graphs import Said

BEGINS = "cuda_graph_"


def check(ctx: Context) -> Iterator[Item]:
    """The largest batch with graphs must not be below the largest that one group of ranks may run."""
    if algorithm(ctx) not in EAGLE_FAMILY or not any(name.startswith(BEGINS) for name in ctx.arguments or ()):
        yield NotApplicable()
        return
    assert ctx.resolution is not None
    assert ctx.engine is not None
    from eaglecfg.engines.decode_graphs import largest_batch

    captured, given = largest_batch(ctx.resolution), whole(ctx.argument("max_running_requests"))
    running = given
    if ctx.argument("max_running_requests") is None:
        running = ctx.engine.values.get("max_running_requests")  # what speculation sets it to
    if captured is None or not isinstance(running, int) or ctx.argument("disaggregation_mode") == "prefill":
        yield NotApplicable()
        return
    groups = ctx.resolution.runs("attention.dp_size") or 1
    each = running // groups
    if captured.value < each and ctx.resolution.graphs:
        yield _finding(ctx, captured, given, running, groups)


def _finding(ctx: Context, captured: Said, given: int | None, running: int, groups: int) -> Finding:
    each = running // groups
    asked = "" if given is not None else " (set by speculation)"
    shared = f", {each} for each of {groups} groups" if groups > 1 else ""
    what = f"{captured.shown} ends at {captured.value} and" if captured.listed else captured.shown
    size = "" if captured.listed else f" {captured.value}"
    plain = not captured.listed and captured.flag == captured.shown
    return Finding(
        f"{what}{size} is below max_running_requests {running}{asked}{shared}, so that larger batches run "
        "without CUDA graphs",
        path=ctx.argument_path(captured.flag),
        # Nobody asked for so many at once.
        severity=None if given is not None else Severity.INFO,
        why="draft steps are short, and without graphs launching them costs more than they save: slower "
        "than plain decoding",
        help=(f"write {captured.flag}: {each}" if plain else f"let {captured.shown} reach {each}")
        + ", or leave it out"
        if given is not None
        else f"write max_running_requests: {captured.value * groups} if no more are served at once, else "
        f"leave {captured.flag} out",
        related=((ctx.argument_path("max_running_requests"), f"{running} requests may run"),)
        if given is not None
        else (),
        fix=write(ctx, captured.flag, each) if given is not None and plain else None,
        values={captured.flag: captured.value, "max_running_requests": running},
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
