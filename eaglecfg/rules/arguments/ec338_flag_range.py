"""A flag value outside of what the engine can work with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.numerals import whole
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


@record
class _Bound:
    """``fits`` is asked about a value of the right type; ``why`` is what the engine does about any other."""

    takes: str
    fits: Callable[[Any], bool]
    why: str
    help: str
    today: Today = Today.CRASH_AT_START


def _share(value: Any) -> bool:
    return math.isfinite(float(value)) and 0 < float(value) < 1


def _from(least: int, most: int | None = None) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        number = whole(value)
        return number is None or (number >= least and (most is None or number <= most))

    return fits


_NAMES = frozenset({"CRITICAL", "FATAL", "ERROR", "WARNING", "WARN", "INFO", "DEBUG", "NOTSET"})
"""Those of Python's logging module, which is not loaded for them."""


def _level(value: Any) -> bool:
    return not isinstance(value, str) or value.upper() in _NAMES


_LEVELS = _Bound(
    "critical, error, warning, info or debug",
    _level,
    "SGLang looks the name up in Python's logging module and stops with an AttributeError",
    "write info",
)
BOUNDS = {
    "mem_fraction_static": _Bound(
        "a number between 0 and 1",
        _share,
        "it is the share of the GPU's memory for weights and cache: nothing is left for the cache at 0, "
        "nothing for activations at 1, and SGLang runs out of memory while it starts",
        "write a share such as 0.85",
    ),
    "page_size": _Bound(
        "a whole number of at least 1",
        _from(1),
        "SGLang divides the size of its cache by it",
        "write 1, or leave it out so that the attention backend chooses",
    ),
    "max_running_requests": _Bound(
        "a whole number of at least 1",
        _from(1),
        "SGLang stops with an assertion (max_running_request is zero)",
        "write how many requests may run at once, or leave it out",
    ),
    "context_length": _Bound(
        "a whole number of at least 1",
        _from(1),
        "SGLang stops with an assertion: no request would fit",
        "write the number of tokens, or leave it out to take the model's",
    ),
    "port": _Bound(
        "a number from 0 to 65535",
        _from(0, 65_535),
        "there is no such port: SGLang stops when it opens it",
        "write a free port, such as 30000",
    ),
    "pp_size": _Bound(
        "a whole number of at least 1",
        _from(1),
        "it is the number of pipeline stages, by which SGLang divides the hosts and multiplies the ranks: it "
        "stops while it starts its schedulers",
        "write the number of stages, or leave it out for one",
    ),
    "dp_size": _Bound(
        "a whole number of at least 1",
        _from(1),
        "it is the number of replicas: SGLang starts none and does not get ready",
        "write the number of replicas, or leave it out for one",
    ),
    "base_gpu_id": _Bound(
        "a whole number of at least 0",
        _from(0),
        "it is the index of the first GPU; SGLang stops with an assertion",
        "write the index of a GPU, or leave it out to begin with the first",
    ),
    "gpu_id_step": _Bound(
        "a whole number of at least 1",
        _from(1),
        "it is the distance between the GPUs of two ranks; SGLang stops with an assertion",
        "write 1, or leave it out",
    ),
    "log_level": _LEVELS,
}
"""Flags whose every value outside of the bound stops each version read (srt/managers/tp_worker.py,
srt/model_executor/pool_configurator.py, srt/utils/common.py, configure_logger; for the GPUs
srt/server_args.py, check_server_args; for the stages srt/entrypoints/engine.py, nnodes // pp_size; for the
replicas srt/managers/data_parallel_controller.py, launch_dp_schedulers)."""


def check(ctx: Context) -> Iterator[Item]:
    """Numbers in their range, names among those that are known."""
    assert ctx.engine is not None
    assert ctx.arguments is not None
    for argument in ctx.arguments.values():
        bound = BOUNDS.get(ctx.engine.flags.canonical(argument.name))
        if bound is not None and _typed(argument) and not bound.fits(argument.value):
            yield Finding(
                f"{argument.name} takes {bound.takes}, but is {_spelled(argument.value)}",
                path=ctx.where(*argument.path),
                today=bound.today,
                why=bound.why,
                help=bound.help,
                # Neither infinity nor no number at all is JSON.
                values={argument.name: _spelled(argument.value)},
            )


def _typed(argument: Argument) -> bool:
    """Whether the value is of a type that the flag takes, which a rule of its own decides."""
    value = argument.value
    if argument.name == "log_level":
        return isinstance(value, str)
    if argument.name == "mem_fraction_static":
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return False
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _spelled(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "no number" if math.isnan(value) else "infinite"
    return str(value) if isinstance(value, str) and value else repr(value)


RULE = Rule(
    id="EC338",
    slug="flag-range",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC303",),
)
