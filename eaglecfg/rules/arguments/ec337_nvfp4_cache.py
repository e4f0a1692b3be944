"""An NVFP4 key/value cache that the draft's backend cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)

NATIVE = re.compile(r"\bG?B[23]00\b", re.IGNORECASE)
"""GPUs on which trtllm_mha keeps the cache in a layout of its own."""
BACKENDS = ("attention_backend", "decode_attention_backend", "prefill_attention_backend")
OWN, MODE = "speculative_draft_attention_backend", "disaggregation_mode"


def check(ctx: Context) -> Iterator[Item]:
    """Native NVFP4 wants one backend for target and draft, and one server for prefill and decode."""
    assert ctx.engine is not None
    wanted = ctx.engine.values.get("nvfp4_cache_draft_backend")
    native = any(ctx.argument(flag) == wanted for flag in BACKENDS)
    if wanted is None or ctx.argument("kv_cache_dtype") != "nvfp4" or not native:
        yield NotApplicable()
        return
    own, mode = ctx.argument(OWN), ctx.argument(MODE)
    faults = []
    if algorithm(ctx) in EAGLE_FAMILY and own not in (None, wanted):
        faults.append((OWN, own, f"give the draft {wanted} too, or leave {OWN} out"))
    if mode not in (None, "null"):
        faults.append((MODE, mode, "take another kv_cache_dtype on split servers"))
    gpu = ctx.model.hardware.gpu if ctx.model.hardware is not None else None
    if faults and gpu is None:
        yield NotChecked(
            "hardware.gpu is not given; B200 and its kin keep an NVFP4 cache in their own layout"
        )
        return
    if gpu is not None and not NATIVE.search(gpu):
        yield NotApplicable()
        return
    for flag, value, help in faults:
        yield Finding(
            f"{flag} {value} does not go with an NVFP4 cache under {wanted}",
            path=ctx.argument_path(flag),
            why=f"{wanted} keeps the scales of the cache in a layout that nothing else reads; SGLang stops "
            "while it reads its arguments",
            help=help,
            evidence=(
                Evidence(
                    f"sglang {ctx.engine.facts_of}",
                    "kv_cache_dtype",
                    ctx.engine.sources.get("nvfp4_cache_draft_backend", ""),
                ),
            ),
            related=((ctx.argument_path("kv_cache_dtype"), "the cache is NVFP4"),),
            values={flag: value, "kv_cache_dtype": "nvfp4", "gpu": gpu},
        )


RULE = Rule(
    id="EC337",
    slug="nvfp4-cache",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301", "EC304", "EC314"),
    research=("PAR-07",),
)
