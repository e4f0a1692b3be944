"""EC345: speculation on a hybrid target whose prefix cache does not take it."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.attention import attention_facts
from eaglecfg.engines.table import source_of
from eaglecfg.rules.arguments.backends import configs
from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give

STRATEGY, OFF = "mamba_scheduler_strategy", "disable_radix_cache"


def check(ctx: Context) -> Iterator[Item]:
    """A target with a recurrent state and a prefix cache speculates only with an extra buffer for it."""
    assert ctx.engine is not None
    fact = attention_facts(ctx.engine).get("values", {}).get("mamba_speculation")
    target, _ = configs(ctx)
    assert target is not None
    name, gpu = target.architecture or "", ctx.model.hardware.gpu if ctx.model.hardware else None
    classes = fact["value"] if fact is not None else {}
    known = name in classes.get("extra", ()) or name in classes.get("none", ())
    if fact is None or not known or algorithm(ctx) is None or (gpu and _is_amd(gpu)):
        yield NotApplicable()
        return
    strategy, off = ctx.argument(STRATEGY), ctx.argument(OFF) is True
    buffered = strategy in ("extra_buffer", "extra_buffer_lazy")
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
