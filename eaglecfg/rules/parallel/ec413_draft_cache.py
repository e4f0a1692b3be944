"""EC413: a draft whose key/value cache costs far more than the engine reserves for it."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.config_classes import head_width, key_value_heads, shared_width
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks, unsettled

WORTH_KNOWING, TOO_MUCH = 0.10, 0.50
"""Shares of the whole cache by which it overruns: the memory that mem_fraction_static leaves free takes a
tenth, but nothing takes half."""


def check(ctx: Context) -> Iterator[Item]:
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    assert ctx.target is not None
    assert ctx.target.config is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    target, draft, shared = ctx.target.config, ctx.draft.config, ranks(ctx)
    layers, own_layers = target.integer("num_hidden_layers"), draft.integer("num_hidden_layers") or 1
    each, own = values_per_token(target, shared.attention), values_per_token(draft, shared.attention)
    if layers is None or layers < 1 or own_layers < 1 or not each or not own or not shared.exact:
        yield NotApplicable()
        return
    pool = each * (layers + own_layers)
    over = (own - each) * own_layers
    if over <= WORTH_KNOWING * pool:
        return
    yield Finding(
        f"a draft layer needs {own} KV values a token and rank, but SGLang reserves {each} as for a target "
        "layer",
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.WARNING if over > TOO_MUCH * pool else Severity.INFO,
        why=f"the cache takes {over / pool:.0%} more memory than was set aside: out of memory at start or "
        "under load",
        help="set max_total_tokens, or lower mem_fraction_static, so that target and draft fit",
        evidence=tuple(
            config_line(config, key)
            for config in (target, draft)
            for key in ("num_key_value_heads", "head_dim", "kv_lora_rank")
            if config.find(key) is not None
        ),
        arithmetic=(
            f"reserved: {each} × ({layers} + {own_layers}) = {pool} values a token and rank",
            f"needed:   {each} × {layers} + {own} × {own_layers} = {each * layers + own * own_layers}",
        ),
        values={"target_layer": each, "draft_layer": own, "layers": layers},
    )


def values_per_token(config: ModelConfig, attention_ranks: int) -> int | None:
    """Cached numbers of one token in one layer on one rank: keys and values, or the latent of MLA."""
    latent = config.integer("kv_lora_rank")
    if latent is not None:
        return latent + (config.integer("qk_rope_head_dim") or 0)
    width = head_width(config) or shared_width(config)
    heads = key_value_heads(config) or config.integer("num_attention_heads")
    if not heads or not width or attention_ranks < 1:
        return None
    return 2 * width * max(1, heads // attention_ranks)


RULE = Rule(
    id="EC413",
    slug="draft-kv-cache",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=("EC402", "EC404", *UNLOADABLE),
    research=("MEM-01", "MEM-02"),
)
