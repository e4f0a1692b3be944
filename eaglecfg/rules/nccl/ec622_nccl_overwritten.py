"""A variable that the engine writes over."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable


def check(ctx: Context) -> Iterator[Item]:
    """What the engine sets at start must be what the deployment says."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    assert ctx.engine is not None
    for name in view.written():
        if name not in view:
            continue
        seen = view.sees(name)
        if not seen.by_engine or seen.text == view.text(name):
            continue
        because = f" because of {seen.why}" if seen.why.startswith("--") else ""
        yield view.finding(
            name,
            f"sglang {ctx.engine.version} replaces {view.spelled(name)} by {seen.text}{because}",
            why="the engine writes the variable into the environment of its ranks before NCCL reads it",
            help=f"remove {name}" + (f", or leave {seen.why} out" if seen.why.startswith("--") else ""),
            fix=without_variable(view, name, safe=view.engine_value(name).text == seen.text),
            values={"runs": seen.text},
            evidence=(Evidence(f"sglang {ctx.engine.facts_of}", seen.source, f"{name} = {seen.text}"),),
        )


RULE = Rule(
    id="EC622",
    slug="nccl-overwritten",
    severity=Severity.WARNING,
    today=Today.REWRITTEN,
    check=check,
    needs=(Need.ENGINE,),
    research=(
        "nccl/S001",
        "nccl/S002",
        "nccl/S010",
        "nccl/M003",
    ),
)
