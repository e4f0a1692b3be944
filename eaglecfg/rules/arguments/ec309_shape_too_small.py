"""EC309: numbers of the shape below what can run."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import write


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or shape.open:
        yield NotApplicable()
        return
    least_steps = 0 if shape.adaptive else 1
    # A chain's tokens follow from its steps, so that a wrong number there is rewritten rather than run.
    tokens = shape.tokens if shape.topk != 1 else None
    numbers = (
        ("num_steps", shape.steps, least_steps),
        ("eagle_topk", shape.topk, 1),
        ("num_draft_tokens", tokens, 2),
    )
    for name, number, least in numbers:
        if number is not None and number < least:
            yield Finding(
                f"{name} must be at least {least}, but is {number}",
                path=ctx.argument_path(f"speculative_{name}"),
                why="there is nothing to draft with such a shape; SGLang does not check it and crashes "
                "while it starts",
                help="write speculative: off to serve without speculation"
                if name != "eagle_topk"
                else "write eagle_topk: 1 for a chain",
                fix=write(ctx, "speculative_eagle_topk", 1) if name == "eagle_topk" else None,
                values={name: number},
            )
            return


RULE = Rule(
    id="EC309",
    slug="shape-too-small",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-06",),
)
