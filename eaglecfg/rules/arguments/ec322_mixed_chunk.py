"""EC322: mixed chunked prefill that speculation switches off."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out


def check(ctx: Context) -> Iterator[Item]:
    assert ctx.engine is not None
    name = algorithm(ctx)
    if ctx.argument("enable_mixed_chunk") is not True or name not in EAGLE_FAMILY:
        yield NotApplicable()
        return
    if ctx.engine.values.get("mixed_chunk_with_eagle", True):
        return
    yield Finding(
        f"enable_mixed_chunk is switched off under {name} in sglang {ctx.engine.version}",
        path=ctx.argument_path("enable_mixed_chunk"),
        why="this version does not mix prefill and decode under speculation; one log line says so",
        help="leave out enable_mixed_chunk",
        fix=leave_out(ctx, "enable_mixed_chunk", safe=True),
        values={"enable_mixed_chunk": True},
    )


RULE = Rule(
    id="EC322",
    slug="mixed-chunk",
    severity=Severity.WARNING,
    today=Today.REWRITTEN,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-24",),
)
