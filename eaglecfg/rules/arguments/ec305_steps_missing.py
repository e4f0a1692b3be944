"""EC305: a shape without steps."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import Asked, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or shape.adaptive:
        yield NotApplicable()
        return
    if shape.steps is not None or shape.open:
        return
    given = [
        (name, number)
        for name, number in (("eagle_topk", shape.topk), ("num_draft_tokens", shape.tokens))
        if number is not None
    ]
    spelled = " and ".join(f"{name} {number}" for name, number in given)
    yield Finding(
        f"num_steps must be given together with {spelled}, but is not",
        path=ctx.argument_path(f"speculative_{given[0][0]}"),
        why="SGLang chooses all three numbers or none; it stops with a bare AssertionError while it reads "
        "its arguments",
        help=f"add num_steps (a chain of n steps has n + 1 draft tokens), or leave out {spelled}",
        fix=_chain(ctx, shape),
        values=dict(given),
    )


def _chain(ctx: Context, shape: Asked) -> Fix | None:
    """The steps of a chain of so many tokens."""
    if shape.tokens is None or shape.tokens < 2 or shape.topk not in (None, 1):
        return None
    return give(ctx, ("speculative", "num_steps"), shape.tokens - 1)


RULE = Rule(
    id="EC305",
    slug="steps-missing",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-01",),
)
