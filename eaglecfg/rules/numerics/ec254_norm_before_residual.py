"""norm_before_residual, which SGLang does not implement."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact, engine_line, option, since

NAME = "norm_before_residual"


def check(ctx: Context) -> Iterator[Item]:
    """A draft trained with a normed residual needs a class that norms it."""
    fact, found = draft_fact(ctx), option(ctx, NAME)
    if fact is None or found is None or found[1] is not True:
        yield NotApplicable()
        return
    if NAME in fact.honours:
        return
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    yield Finding(
        f"{ctx.draft.config.file} sets {found[0]}, but sglang {ctx.engine.version} does not norm the "
        f"residual{since(ctx, NAME)}",
        path=ctx.where("draft", "checkpoint"),
        why="the draft's residual stream carries other values than in training: proposals get worse, and "
        "nothing says so",
        help="use a draft trained without norm_before_residual, or an engine that implements it",
        evidence=(
            key_line(ctx.draft.config, found[0], "residual normed in training"),
            engine_line(ctx, fact, "ignored"),
        ),
        values={NAME: True},
    )


RULE = Rule(
    id="EC254",
    slug="norm-before-residual",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("SHP-14",),
)
