"""EC311: the shape that the engine chooses when none is given."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today

NAMES = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or not shape.open or shape.adaptive or not ctx.speculates:
        yield NotApplicable()
        return
    assert ctx.engine is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    chosen = [ctx.resolution.runs(name) if ctx.resolution is not None else None for name in NAMES]
    if any(number is None for number in chosen):
        yield NotChecked("the engine facts do not say which shape is chosen for this target")
        return
    steps, topk, tokens = chosen
    architecture = ctx.target.config.architecture
    yield Finding(
        f"sglang {ctx.engine.version} chooses num_steps {steps}, eagle_topk {topk}, num_draft_tokens "
        f"{tokens} for {architecture}",
        path=ctx.where("speculative"),
        why="the choice depends on target class and version, and no draft was asked",
        help="write the three numbers out, so that an upgrade does not change them; a draft trained for "
        "chains wants eagle_topk 1"
        if topk != 1
        else "write the three numbers out, so that an upgrade does not change them",
        values={"num_steps": steps, "eagle_topk": topk, "num_draft_tokens": tokens},
    )


RULE = Rule(
    id="EC311",
    slug="automatic-shape",
    severity=Severity.INFO,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    research=("ARG-08", "ARG-09"),
)
