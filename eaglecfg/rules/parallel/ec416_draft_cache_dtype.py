"""A draft whose cache takes the narrow dtype that was meant for the target's."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today

FLAG, OWN = "kv_cache_dtype", "speculative_draft_kv_cache_dtype"


def check(ctx: Context) -> Iterator[Item]:
    """``kv_cache_dtype`` holds for both models unless the draft has a flag of its own."""
    assert ctx.engine is not None
    dtype = ctx.argument(FLAG)
    if not isinstance(dtype, str) or not dtype.startswith("fp8"):
        yield NotApplicable()
        return
    if ctx.argument(OWN) is not None:
        return
    known = OWN in ctx.engine.flags
    yield Finding(
        f"kv_cache_dtype {dtype} holds for the draft's cache too",
        path=ctx.argument_path(FLAG),
        why="the cache of the draft is a layer or two, so that little memory is won; whether its guesses get "
        "worse only a measurement tells",
        help=f"{OWN}: auto keeps the draft's cache in its own dtype"
        if known
        else "this version has no flag for the draft's cache alone",
        values={FLAG: dtype, OWN: None},
    )


RULE = Rule(
    id="EC416",
    slug="draft-cache-dtype",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC301", "EC304", *UNLOADABLE),
    research=("MEM-06",),
)
