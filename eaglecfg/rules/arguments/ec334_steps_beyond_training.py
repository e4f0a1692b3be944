"""More draft steps than the draft was unrolled for in training."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """``num_steps`` as it runs against ``ttt_steps`` of the training record."""
    assert ctx.resolution is not None
    assert ctx.draft is not None
    trained = ctx.training.ttt_steps if ctx.training is not None else None
    steps = ctx.resolution.runs("speculative_num_steps")
    if trained is None or not isinstance(steps, int):
        yield NotApplicable()
        return
    if steps <= trained:
        return
    yield Finding(
        f"{steps} draft steps run, but the draft was trained on {trained}",
        path=ctx.argument_path("speculative_num_steps"),
        why="from there on it reads its own states as it never did in training; later steps are accepted "
        "less often, and each costs as much as the first",
        help=f"try num_steps: {trained} beside this; `eaglecfg tune` measures both",
        evidence=(Evidence(f"{ctx.draft.shown}/eaglecfg-training.json", "ttt_steps", str(trained)),),
        values={"num_steps": steps, "ttt_steps": trained},
    )


RULE = Rule(
    id="EC334",
    slug="steps-beyond-training",
    severity=Severity.INFO,
    today=Today.SLOWER,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC107", "EC305", "EC309"),
    research=("ARG-30",),
)
