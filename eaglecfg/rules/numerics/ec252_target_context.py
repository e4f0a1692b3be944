"""A context length beyond what the target was made for."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.context_length import OVERRIDE, allowed, asked_length, derived_length
from eaglecfg.rules.remedies import write


def check(ctx: Context) -> Iterator[Item]:
    """``context_length`` must not exceed the length derived from the target's config.json."""
    assert ctx.target is not None
    assert ctx.target.config is not None
    config, given = ctx.target.config, asked_length(ctx)
    own = derived_length(ctx, config)
    if given is None or own is None or not own.key:
        yield NotApplicable()
        return
    if given <= own.length:
        return
    free = allowed(ctx)
    yield Finding(
        f"context_length must be at most {own.length} as {config.file} says, but is {given}",
        path=ctx.argument_path("context_length"),
        severity=Severity.WARNING if free else None,
        today=Today.SILENT if free else None,
        why=f"{OVERRIDE} lets it start, but the model was not trained for such positions"
        if free
        else "SGLang stops with a ValueError while it reads the target's config",
        help=f"write context_length: {own.length} or less",
        evidence=(config_line(config, own.key, "context of the target"),),
        arithmetic=(own.arithmetic,) if own.arithmetic else (),
        fix=write(ctx, "context_length", own.length),
        values={"context_length": given, "target_context": own.length},
    )


RULE = Rule(
    id="EC252",
    slug="target-context",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    research=("CTX-01",),
)
