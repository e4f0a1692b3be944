"""The server was started with settings that the config does not give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today

if TYPE_CHECKING:
    from eaglecfg.rules.live.running import Running

OF_THE_LAUNCH = frozenset(
    {
        "api_key", "admin_api_key", "base_gpu_id", "chat_template", "chunked_prefill_size", "cuda_graph_bs",
        "cuda_graph_config", "cuda_graph_max_bs", "decode_attention_backend", "device",
        "disable_piecewise_cuda_graph", "dist_init_addr", "dtype", "host", "hicache_mem_layout", "log_level",
        "max_prefill_tokens", "max_running_requests",
        "mem_fraction_static", "nccl_port", "node_rank", "page_size", "piecewise_cuda_graph_max_tokens",
        "piecewise_cuda_graph_tokens", "port", "prefill_attention_backend", "random_seed", "sampling_backend",
        "served_model_name", "skip_server_warmup", "skip_tokenizer_init", "speculative_draft_model_revision",
        "tokenizer_path", "warmups", "weight_version", "attention_backend",
    }
)  # fmt: skip
"""Settings that the engine works out by the machine, or that say where and for whom the server runs."""

MOST_LISTED = 12


def check(ctx: Context) -> Iterator[Item]:
    """Flags that nobody gave in the config, and that do not have the engine's default."""
    running = ctx.running
    assert running is not None
    assert ctx.resolution is not None
    extra = dict(_extra(ctx, running))
    if not extra:
        return
    from eaglecfg.rules.live.judge import shown

    listed = [f"{name} {shown(value)}" for name, value in list(extra.items())[:MOST_LISTED]]
    more = f" and {len(extra) - MOST_LISTED} more" if len(extra) > MOST_LISTED else ""
    yield Finding(
        f"the server at {running.url} runs settings that the config does not give: {', '.join(listed)}{more}",
        path=ctx.where(),
        at_key=True,
        help="write under server: what is meant, so that the next launch has it too",
        values=extra,
    )


def _extra(ctx: Context, running: Running) -> Iterator[tuple[str, Any]]:
    from eaglecfg.engines.flags import UNREADABLE
    from eaglecfg.rules.live.judge import MODELS, SPECULATION, UNSETTLED, same

    assert ctx.engine is not None
    assert ctx.resolution is not None
    for name, found in sorted(running.info.items()):
        if name in OF_THE_LAUNCH or name in MODELS or name in SPECULATION or found in UNSETTLED:
            continue
        if name in ctx.resolution.settings or name not in ctx.engine.flags:
            continue
        default = ctx.engine.flags[name].default
        # What starts as nothing, or is read from somewhere, is mostly filled in by the engine.
        if default not in (*UNSETTLED, UNREADABLE) and not same(default, found):
            yield name, found


RULE = Rule(
    id="EC861",
    slug="live-extra-settings",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.RUNNING, Need.ENGINE),
)
