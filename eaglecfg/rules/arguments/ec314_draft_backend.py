"""EC314: an attention backend that the draft does not have."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.backends import backend
from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    assert ctx.engine is not None
    known = ctx.engine.values.get("draft_backends")
    if algorithm(ctx) not in EAGLE_FAMILY or not ctx.speculates:
        yield NotApplicable()
        return
    if known is None:
        yield NotChecked("the engine facts do not list the draft's attention backends")
        return
    own = ctx.argument("speculative_draft_attention_backend")
    wanted = (
        [(own, "speculative_draft_attention_backend")]
        if isinstance(own, str)
        else [backend(ctx, "decode"), backend(ctx, "prefill")]
    )
    for name, flag in wanted:
        if name is None or name in known:
            continue
        yield Finding(
            f"the draft has no attention backend {name}, which {flag} gives it",
            path=ctx.argument_path(flag),
            why=f"sglang {ctx.engine.version} stops with a ValueError after it has loaded both models",
            help=f"choose one that target and draft have ({listed(sorted(known), 6)})"
            + ("" if own else ", or give the draft its own with speculative_draft_attention_backend"),
            values={flag: name},
        )
        return


RULE = Rule(
    id="EC314",
    slug="draft-backend",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301", "EC304", "EC342", "EC343"),
    research=("ARG-13",),
)
