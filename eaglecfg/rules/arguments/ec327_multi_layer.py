"""EC327: the flag of multi-layer MTP heads on an EAGLE-3 draft."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out

FLAG = "enable_multi_layer_eagle"


def check(ctx: Context) -> Iterator[Item]:
    if ctx.argument(FLAG) is not True or algorithm(ctx) != "EAGLE3":
        yield NotApplicable()
        return
    yield Finding(
        f"{FLAG} belongs to multi-layer MTP heads, but the algorithm is EAGLE3",
        path=ctx.argument_path(FLAG),
        why="SGLang then starts another worker, which loads one draft for each step and was not made for "
        "EAGLE-3 drafts",
        help=f"leave out {FLAG}; several layers in one EAGLE-3 draft need no flag",
        related=((ctx.argument_path("speculative_algorithm"), "EAGLE3"),),
        fix=leave_out(ctx, FLAG),
        values={FLAG: True},
    )


RULE = Rule(
    id="EC327",
    slug="multi-layer-flag",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("PAR-03",),
)
