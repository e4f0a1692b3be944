"""EC326: a token map that EAGLE-3 does not use."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out

FLAG = "speculative_token_map"


def check(ctx: Context) -> Iterator[Item]:
    if ctx.argument(FLAG) is None or algorithm(ctx) != "EAGLE3":
        yield NotApplicable()
        return
    yield Finding(
        f"{FLAG} has no effect under EAGLE3, which takes the draft's own d2t",
        path=ctx.argument_path(FLAG),
        why="SGLang ignores the file with a log line; tokens are mapped by the d2t tensor of the draft",
        help=f"leave out {FLAG}",
        fix=leave_out(ctx, FLAG, safe=True),
        values={FLAG: ctx.argument(FLAG)},
    )


RULE = Rule(
    id="EC326",
    slug="token-map",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
    research=("VOC-15",),
)
