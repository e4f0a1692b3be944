"""Both kinds of norm before fc at once."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact, option


def check(ctx: Context) -> Iterator[Item]:
    """A draft is trained with one norm over all states or with one for each, not with both."""
    fact = draft_fact(ctx)
    one = option(ctx, "norm_before_fc")
    each = next((o for key in ("fc_norm", "use_aux_norm") if (o := option(ctx, key)) and o[1]), None)
    if fact is None or one is None or not one[1] or each is None or "norm_before_fc" not in fact.honours:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    yield Finding(
        f"{config.file} sets both {one[0]} and {each[0]}, and SGLang applies both",
        path=ctx.where("draft", "checkpoint"),
        why="no trainer is known that norms the captured states twice; if training used one of them, fc "
        "reads "
        "other values, and nothing says so",
        help="keep the one that training used",
        evidence=(key_line(config, one[0]), key_line(config, each[0])),
        values={one[0]: True, each[0]: True},
    )


RULE = Rule(
    id="EC264",
    slug="two-norms",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC255", "EC256", *UNLOADABLE),
    research=("SHP-19",),
)
