"""EC317: acceptance thresholds that let other tokens through."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out

THRESHOLDS = ("speculative_accept_threshold_single", "speculative_accept_threshold_acc")


def check(ctx: Context) -> Iterator[Item]:
    if algorithm(ctx) not in EAGLE_FAMILY:
        yield NotApplicable()
        return
    for name in THRESHOLDS:
        value = ctx.argument(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value < 1:
            yield Finding(
                f"{name} must be 1.0 for the target's own output, but is {value}",
                path=ctx.argument_path(name),
                why="draft tokens are accepted that the target would not have sampled: answers change, and "
                "nothing says so",
                help=f"leave out {name}, unless a change of the output is what you want",
                fix=leave_out(ctx, name),
                values={name: value},
            )


RULE = Rule(
    id="EC317",
    slug="lossy-acceptance",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301", "EC316"),
    research=("ARG-17",),
)
