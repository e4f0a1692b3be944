"""Two weights of one layer with the same bytes: one was exported twice."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import tensor_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.weights.reading import twins_of, undecided


def check(ctx: Context) -> Iterator[Item]:
    """gate_proj and up_proj of a layer must differ, and q_proj from k_proj and v_proj."""
    assert ctx.values is not None
    assert ctx.draft is not None
    twins = {name for pair in twins_of(ctx.draft.tensors) for name in pair}
    if twins or ctx.values.reason:
        # Whole numbers are compared as well, so that their format leaves nothing unchecked.
        yield from (each for each in undecided(ctx, *twins) if each.incomplete)
    judged = ctx.values.tensors
    for first, second in ctx.values.same:
        alike = judged.get(first)
        if alike is not None and (alike.constant is not None or alike.zero or alike.nan):
            continue  # EC818 says what they hold
        yield Finding(
            f"the draft's {second} has the same bytes as its {first}",
            ctx.where("draft", "checkpoint"),
            why="training starts both from different numbers and never makes them alike: an export that "
            "splits a fused weight took one part twice. The server stays healthy, the accept length falls",
            help="export the draft again, and compare its weights with those of the training run",
            evidence=(
                tensor_line(ctx.draft.tensors[first]),
                tensor_line(ctx.draft.tensors[second], "the same bytes"),
            ),
            values={"tensors": [first, second]},
        )


RULE = Rule(
    id="EC821",
    slug="same-weights",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.WEIGHTS,),
)
