"""A slower attention backend on Blackwell, because the shape is left open."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today

BLACKWELL = re.compile(r"\bG?B[23]00\b", re.IGNORECASE)
PLAIN = frozenset({"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"})
"""Classes whose backend no rule of their own chooses."""
BACKENDS = ("attention_backend", "decode_attention_backend", "prefill_attention_backend")


def check(ctx: Context) -> Iterator[Item]:
    """The backend is chosen before the shape, and an open topk counts as a tree."""
    assert ctx.engine is not None
    assert ctx.resolution is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    fact, shape, gpu = ctx.engine.values.get("open_shape_backend"), asked(ctx), ctx.model.hardware
    name = gpu.gpu if gpu is not None else None
    if fact is None or shape is None or not shape.open or not name or not BLACKWELL.search(name):
        yield NotApplicable()
        return
    if ctx.target.config.architecture not in PLAIN or any(ctx.argument(flag) for flag in BACKENDS):
        yield NotApplicable()
        return
    topk = ctx.resolution.runs("speculative_eagle_topk")
    if topk != 1:
        return
    yield Finding(
        f"with its shape left open the server runs {fact['open']} attention on {name}, where a given "
        f"eagle_topk 1 gets {fact['given']}",
        path=ctx.argument_path("speculative_algorithm"),
        why=f"the engine chooses the backend before the shape, and only then sets eagle_topk to {topk}",
        help="write num_steps, eagle_topk: 1 and num_draft_tokens",
        evidence=(
            Evidence(
                f"sglang {ctx.engine.facts_of}",
                "attention_backend",
                ctx.engine.sources.get("open_shape_backend", ""),
            ),
        ),
        related=((ctx.where("hardware", "gpu"), "a Blackwell GPU"),),
        values={"gpu": name, "eagle_topk": topk},
    )


RULE = Rule(
    id="EC335",
    slug="open-shape-backend",
    severity=Severity.INFO,
    today=Today.SLOWER,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.HARDWARE),
    follows=("EC301",),
    research=("ARG-31",),
)
