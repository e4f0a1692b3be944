"""The draft is built with the target's context length."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotChecked, Rule, Severity, Today
from eaglecfg.rules.numerics.context_length import (
    OVERRIDE,
    allowed,
    asked_length,
    derived_length,
    served_length,
)
from eaglecfg.rules.remedies import give, write


def check(ctx: Context) -> Iterator[Item]:
    """The served context must not be longer than the draft's own."""
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    draft, target = ctx.draft.config, ctx.target.config
    served, own = served_length(ctx), derived_length(ctx, draft)
    if served is None or own is None:
        which = target.file if served is None else draft.file
        yield NotChecked(f"{which} has no max_position_embeddings, and its config class is not known here")
        return
    if served <= own.length:
        return
    given = asked_length(ctx) is not None
    free = allowed(ctx)
    key = own.key or "max_position_embeddings"
    window = (
        str(own.length) if own.key else f"{own.length} (assumed, {draft.file} has no max_position_embeddings)"
    )
    asked = "context_length gives" if given else _target_gives(ctx)
    theirs = None if given else derived_length(ctx, target)
    yield Finding(
        f"the draft's context of {window} is shorter than the {served} that {asked} the server",
        path=ctx.argument_path("context_length") if given else ctx.where("draft", "checkpoint"),
        severity=Severity.WARNING if free else None,
        today=Today.SILENT if free else None,
        why=(
            f"{OVERRIDE} lets it start, but beyond {own.length} tokens the draft runs where it was not "
            "trained: "
            "acceptance falls, in public reports to below plain decoding"
            if free
            else "SGLang builds the draft with the target's context length and stops with a ValueError "
            "after loading the target"
        ),
        help=f"set server.context_length to {own.length}"
        + ("" if own.key else f", or write the draft's real max_position_embeddings into {draft.file}")
        + (
            ""
            if free
            else f", or env.{OVERRIDE} to 1 to serve {served} with fewer accepted tokens beyond {own.length}"
        ),
        evidence=(
            config_line(draft, key, "context of the draft"),
            *(() if given else _target_lines(ctx, target)),
        ),
        related=((ctx.where("env", OVERRIDE), "the length check is switched off"),) if free else (),
        arithmetic=tuple(
            f"{side}: {each.arithmetic}"
            for side, each in (("draft", own), ("target", theirs))
            if each is not None and each.arithmetic
        ),
        fix=write(ctx, "context_length", own.length)
        if given
        else give(ctx, ("server", "context_length"), own.length),
        values={"draft_context": own.length, "served_context": served},
    )


def _target_gives(ctx: Context) -> str:
    """What gives the served context, and what stretches it where the number in the file is another one."""
    assert ctx.target is not None
    assert ctx.target.config is not None
    derived, key = derived_length(ctx, ctx.target.config), _target_key(ctx)
    if derived is None or not derived.stretched:
        return f"the target's {key} gives"
    return f"the target's {key} of {derived.written}, stretched by its rope scaling, gives"


def _target_lines(ctx: Context, target: ModelConfig) -> Iterator[Evidence]:
    derived = derived_length(ctx, target)
    yield config_line(target, _target_key(ctx), "context of the target")
    if derived is not None and derived.stretched:
        yield config_line(target, "rope", "stretches it")


def _target_key(ctx: Context) -> str:
    assert ctx.target is not None
    assert ctx.target.config is not None
    derived = derived_length(ctx, ctx.target.config)
    return derived.key if derived is not None and derived.key else "max_position_embeddings"


RULE = Rule(
    id="EC251",
    slug="draft-context",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=("EC252", *UNLOADABLE),
    research=("CTX-01", "CTX-02", "CTX-03"),
)
