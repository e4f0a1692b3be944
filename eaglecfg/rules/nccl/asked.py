"""The NCCL variables of a deployment as NCCL's log is to be judged by: what is asked, and what the engine
makes of it."""

from __future__ import annotations

from collections.abc import Mapping

from eaglecfg.nccl.log.judge import Asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.nccl.settings import look


def asked_settings(ctx: Context, more: Mapping[str, str] | None = None) -> tuple[Asked, ...]:
    """Every variable of NCCL's own that the deployment sets to a value of its own. ``more``: what a launch
    sets besides, which wins."""
    settings = look(ctx)
    launched = {name: text for name, text in (more or {}).items() if name.startswith("NCCL_")}
    out = []
    for variable in settings.given.values():
        if variable.name.startswith("NCCL_") and variable.name not in launched and not variable.handed:
            sees = settings.sees(variable.name)
            why = sees.why if sees.by_engine else ""
            out.append(Asked(variable.name, variable.text, sees.text, why, settings.version))
    out += [Asked(name, text, text, version=settings.version) for name, text in launched.items()]
    return tuple(out)
