"""EC323: simulated acceptance left in the environment."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import without

NAME = "SGLANG_SIMULATE_ACC_LEN"


def check(ctx: Context) -> Iterator[Item]:
    value = ctx.variable(NAME)
    if value is None or algorithm(ctx) is None:
        yield NotApplicable()
        return
    try:
        length = float(value)
    except ValueError:
        length = 0.0  # the engine falls back to its default, which is off
    if length <= 0:
        return
    yield Finding(
        f"{NAME}={value} makes the server accept tokens by lot instead of verifying them",
        path=ctx.where("env", NAME),
        why="the simulation is for benchmarks of speed alone: answers are corrupt, and nothing says so",
        help=f"remove {NAME} from the environment",
        fix=without(ctx, "env", NAME),
        values={NAME: value},
    )


RULE = Rule(
    id="EC323",
    slug="simulated-acceptance",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-25",),
)
