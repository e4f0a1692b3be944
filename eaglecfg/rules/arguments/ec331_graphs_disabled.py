"""Speculation without CUDA graphs."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out

FLAGS = ("disable_cuda_graph", "cuda_graph_backend_decode")


def check(ctx: Context) -> Iterator[Item]:
    """Decode should run in CUDA graphs where a draft runs several short steps for each verify."""
    if algorithm(ctx) not in EAGLE_FAMILY:
        yield NotApplicable()
        return
    flag = next((name for name in FLAGS if ctx.argument(name) in (True, "disabled")), None)
    if flag is None:
        return
    yield Finding(
        f"{flag} runs every draft step without CUDA graphs",
        path=ctx.argument_path(flag),
        why="draft steps are short, and without graphs launching them can cost more than they save",
        help=f"leave out {flag} outside of debugging",
        fix=leave_out(ctx, flag),
        values={flag: ctx.argument(flag)},
    )


RULE = Rule(
    id="EC331",
    slug="graphs-disabled",
    severity=Severity.INFO,
    today=Today.SLOWER,
    check=check,
    needs=(Need.ENGINE,),
)
