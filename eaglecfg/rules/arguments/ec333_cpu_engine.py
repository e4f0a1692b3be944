"""Serving on a CPU without the variable that switches the CPU engine on."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Fix, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give


def check(ctx: Context) -> Iterator[Item]:
    """``device: cpu`` goes with an environment variable that must be exactly 1."""
    assert ctx.engine is not None
    name = ctx.engine.values.get("cpu_variable")
    if ctx.argument("device") != "cpu" or name is None:
        yield NotApplicable()
        return
    value = ctx.variable(name)
    if value == "1":
        return
    yield Finding(
        f"device cpu needs {name}=1 in env, "
        + (f"which is {value}" if value is not None else "which is absent"),
        path=ctx.where("env", name) if value is not None else ctx.argument_path("device"),
        why="the engine asks the variable, not the flag, whether to use its CPU kernels and attention",
        help=f'write {name}: "1" under env; the CPU kernels are no part of the wheel and have to be built',
        evidence=(
            Evidence(f"sglang {ctx.engine.facts_of}", name, ctx.engine.sources.get("cpu_variable", "")),
        ),
        fix=_fix(ctx, name, value),
        values={"device": "cpu", name: value},
    )


def _fix(ctx: Context, name: str, value: str | None) -> Fix:
    if value is None:
        return give(ctx, ("env", name), "1")
    return Fix(f"set {name} to 1", ctx.where("env", name), "1", safe=False)


RULE = Rule(
    id="EC333",
    slug="cpu-engine",
    severity=Severity.WARNING,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("ARG-27",),
)
