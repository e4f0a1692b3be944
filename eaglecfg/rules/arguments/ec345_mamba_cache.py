"""EC345: a hybrid target whose prefix cache does not take speculation, or the strategy that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.engines.attention import attention_facts
from eaglecfg.engines.table import source_of
from eaglecfg.rules.arguments.backends import configs
from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give, leave_out

STRATEGY, OFF = "mamba_scheduler_strategy", "disable_radix_cache"
NEWER = "mamba_radix_cache_strategy"
BUFFERED = ("extra_buffer", "extra_buffer_lazy")
OVERLAP, PAGE, BACKEND, LINEAR = (
    "disable_overlap_schedule",
    "page_size",
    "attention_backend",
    "linear_attn_backend",
)


def check(ctx: Context) -> Iterator[Item]:
    """A target with a recurrent state and a prefix cache speculates only with an extra buffer for it."""
    assert ctx.engine is not None
    facts = attention_facts(ctx.engine).get("values", {})
    if "mamba_strategy" in facts:
        yield from _asked_for(ctx, facts["mamba_strategy"])
        return
    fact = facts.get("mamba_speculation")
    target, _ = configs(ctx)
    assert target is not None
    name, gpu = target.architecture or "", ctx.model.hardware.gpu if ctx.model.hardware else None
    classes = fact["value"] if fact is not None else {}
    known = name in classes.get("extra", ()) or name in classes.get("none", ())
    if fact is None or not known or algorithm(ctx) is None or (gpu and _is_amd(gpu)):
        yield NotApplicable()
        return
    strategy, off = ctx.argument(STRATEGY), ctx.argument(OFF) is True
    buffered = strategy in BUFFERED
    if (off and not buffered) or (strategy == "extra_buffer" and not off and name in classes["extra"]):
        return
    yield Finding(
        _message(name, strategy, off, buffered),
        path=ctx.argument_path(STRATEGY if strategy is not None else "speculative_algorithm"),
        why=f"{name} keeps a recurrent state beside its pages, and sglang {ctx.engine.version} speculates on "
        "a cached prefix only with an extra buffer for it; it stops while it reads its arguments",
        help=_help(name in classes["extra"], off),
        evidence=(Evidence(f"sglang {ctx.engine.facts_of}", STRATEGY, source_of(fact)),),
        fix=None if off else give(ctx, ("server", OFF), True),
        values={"class": name, "strategy": strategy},
    )


def _asked_for(ctx: Context, fact: Mapping[str, Any]) -> Iterator[Item]:
    """Later versions pick what fits by themselves, and refuse a strategy that was asked for and does not."""
    assert ctx.engine is not None
    target, _ = configs(ctx)
    name, gpu = (
        (target.architecture if target else None) or "",
        ctx.model.hardware.gpu if ctx.model.hardware else None,
    )
    flag = next((one for one in (NEWER, STRATEGY) if ctx.argument(one) is not None), NEWER)
    strategy, classes = ctx.argument(flag), fact["value"]
    known = name in classes["extra"] or name in classes["none"]
    if (
        not known
        or strategy not in ("no_buffer", *BUFFERED)
        or ctx.argument(OFF) is True
        or (gpu and _is_amd(gpu))
    ):
        yield NotApplicable()
        return
    found = (
        _without_buffer(ctx) if strategy == "no_buffer" else _with_buffer(ctx, name, str(strategy), classes)
    )
    if found is None:
        return
    clash, instead = found
    yield Finding(
        f"{flag} {strategy} does not go with {clash}",
        path=ctx.argument_path(flag),
        why=f"{name} keeps a recurrent state beside its pages, and sglang {ctx.engine.version} takes a "
        "strategy for its prefix cache as it is asked for; it stops while it reads its arguments",
        help=f"leave {flag} out, so that the engine picks what fits{instead}",
        evidence=(Evidence(f"sglang {fact['read_in']}", flag, str(fact["source"])),),
        fix=leave_out(ctx, flag),
        values={"class": name, "strategy": strategy},
    )


def _without_buffer(ctx: Context) -> tuple[str, str] | None:
    """What no_buffer meets that it does not go with, and what else to do about it."""
    page = ctx.argument(PAGE)
    if isinstance(page, int) and page > 1:
        return f"{PAGE} {page}", f", or write {PAGE}: 1"
    if ctx.argument(BACKEND) == "trtllm_mha":
        return f"{BACKEND} trtllm_mha", ""
    # Several ranks in a pipeline, and devices without overlap, switch it off themselves.
    alone = ctx.argument("pp_size") in (None, 1) and ctx.argument("device") in (None, "cuda")
    if alone and ctx.argument(OVERLAP) is not True:
        return f"the overlap schedule, which is on unless {OVERLAP} is true", f", or write {OVERLAP}: true"
    return None


def _with_buffer(
    ctx: Context, name: str, strategy: str, classes: Mapping[str, Any]
) -> tuple[str, str] | None:
    """What a buffer that was asked for meets that it does not go with, and what else to do about it."""
    if name not in classes["extra"]:
        return name, f", or write no_buffer and {OVERLAP}: true"
    linear = ctx.argument(LINEAR)
    if linear not in (None, "triton"):
        return f"{LINEAR} {linear}", f", or leave {LINEAR} out"
    if strategy == "extra_buffer_lazy" and not classes["lazy_speculates"] and algorithm(ctx) is not None:
        return "speculation in this version", ", or write extra_buffer"
    return None


def _is_amd(gpu: str) -> bool:
    """Some versions turn the cache off there themselves."""
    from eaglecfg.engines.gpu import is_amd  # most files name no GPU

    return is_amd(gpu)


def _help(buffer_works: bool, off: bool) -> str:
    if off:
        return f"leave {STRATEGY} out"
    buffer = f'write {STRATEGY}: extra_buffer and env SGLANG_ENABLE_SPEC_V2: "1", or ' if buffer_works else ""
    return f"{buffer}write {OFF}: true"


def _message(name: str, strategy: object, off: bool, buffered: bool) -> str:
    if off:
        return f"{STRATEGY} {strategy} does not go with {OFF}"
    if buffered:
        return f"{STRATEGY} {strategy} does not go with speculation on {name}"
    is_now = f"{STRATEGY} {strategy}" if strategy not in (None, "auto") else f"{STRATEGY} left at no_buffer"
    return f"speculation on {name} does not go with the prefix cache and {is_now}"


RULE = Rule(
    id="EC345",
    slug="mamba-cache",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC301", "EC304", "EC508"),
)
