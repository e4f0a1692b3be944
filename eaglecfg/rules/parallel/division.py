"""The one message of the rules that divide a number of a model over ranks."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, either
from eaglecfg.rules.model import Finding, Item, NotApplicable
from eaglecfg.rules.parallel.ranks import Ranks, divisors, ranks, spread, unsettled

Role = str
"""``target`` or ``draft``."""


def checkpoint(ctx: Context, role: Role) -> CheckpointFacts | None:
    """The target or the draft of a deployment."""
    return ctx.target if role == "target" else ctx.draft


def query_heads(ctx: Context, role: Role) -> Iterator[Item]:
    """Query heads must divide by the ranks that share them."""
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    facts, shared = checkpoint(ctx, role), ranks(ctx)
    heads = facts.config.integer("num_attention_heads") if facts and facts.config else None
    if heads is None or not shared.exact or heads <= 0:
        yield NotApplicable()
    elif heads % shared.attention:
        yield uneven(ctx, role, "num_attention_heads", heads, shared.attention, shared, "attention heads")


def key_value_heads(ctx: Context, role: Role) -> Iterator[Item]:
    """Key and value heads must divide by the ranks, or the ranks by them (they are replicated then)."""
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    facts, shared = checkpoint(ctx, role), ranks(ctx)
    if facts is None or facts.config is None or facts.config.integer("kv_lora_rank") is not None:
        yield NotApplicable()  # latent attention keeps one compressed key for all heads
        return
    heads = facts.config.integer("num_key_value_heads")
    if heads is None or not shared.exact or heads <= 0:
        yield NotApplicable()
    elif not spread(heads, shared.attention):
        yield uneven(ctx, role, "num_key_value_heads", heads, shared.attention, shared, "key/value heads")


def uneven(ctx: Context, role: Role, key: str, number: int, over: int, shared: Ranks, what: str) -> Finding:
    """``number`` of ``key`` does not go over ``over`` ranks."""
    facts = checkpoint(ctx, role)
    assert facts is not None
    assert facts.config is not None
    late = "after it has loaded the target" if role == "draft" else "while it builds the target"
    other = ctx.draft.config if role == "target" and ctx.speculates and ctx.draft is not None else None
    also = other.integer(key) if other is not None and key == "num_attention_heads" else None
    fits = [str(n) for n in divisors(number, over - 1) if also is None or also % n == 0]
    label = shared.label if over == shared.attention else f"{over} ranks"
    replicated = key == "num_key_value_heads"
    need = (
        f"{what} must divide by the ranks or the ranks by them"
        if replicated
        else f"{what} must divide evenly"
    )
    return Finding(
        f"the {role}'s {number} {what} do not go over {label}"
        if what.endswith("s")
        else f"the {role}'s {what} of {number} does not divide by {label}",
        path=ctx.where("parallel", "tp_size"),
        why=f"{need}; SGLang stops with a bare assertion {late}",
        help=f"use a tp_size of {either(fits)}" + (f", or another {role}" if role == "draft" else ""),
        evidence=(config_line(facts.config, key, f"{number} ÷ {over} leaves {number % over}"),),
        related=((shared.path, f"{shared.groups} attention groups"),) if shared.groups > 1 else (),
        arithmetic=(f"{number} ÷ {over} = {number // over}, remainder {number % over}",),
        values={key: number, "ranks": over},
    )
