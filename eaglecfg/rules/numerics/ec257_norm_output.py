"""norm_output on a version that does not read it."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact, engine_line, newer, option, since

NAME = "norm_output"


def check(ctx: Context) -> Iterator[Item]:
    """A draft that feeds its normed output back needs a class that does so."""
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
        f"{ctx.draft.config.file} sets {found[0]}, but sglang {ctx.engine.version} does not read "
        f"it{since(ctx, NAME)}",
        path=ctx.where("draft", "checkpoint"),
        why="from the second step on the draft reads its un-normed output instead: proposals get worse, "
        "and nothing says so",
        help=newer(ctx, NAME, "use a draft without it"),
        evidence=(key_line(ctx.draft.config, found[0]), engine_line(ctx, fact, "ignored")),
        values={NAME: True},
    )


RULE = Rule(
    id="EC257",
    slug="norm-output",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC256", *UNLOADABLE),
    research=("SHP-17", "VER-04"),
)
