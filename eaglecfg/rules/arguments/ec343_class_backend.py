"""EC343: an attention backend that the target's class is not allowed to run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.engines.attention import attention_facts
from eaglecfg.engines.table import source_of
from eaglecfg.rules.arguments.backends import Used, backend, configs, picked_path, picked_words, running
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import either
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today

OTHER_MAKERS = frozenset({"aiter", "ascend", "intel_amx", "intel_xpu"})
"""Backends for processors of other makers, which are no advice."""


def check(ctx: Context) -> Iterator[Item]:
    """What the target's class asserts about its backends holds."""
    assert ctx.engine is not None
    assert ctx.resolution is not None
    target, _ = configs(ctx)
    assert target is not None
    row = attention_facts(ctx.engine).get("class_backends", {}).get(target.architecture or "")
    if row is None or ("where" in row and target.value(row["where"]) is None):
        yield NotApplicable()
        return
    if ctx.argument("device") == "cpu":
        yield NotApplicable()
        return
    base = ctx.resolution.get("attention_backend")
    if base.origin == "refused" and base.asked is None:
        yield _missing(ctx, row, "attention_backend")
        return
    if row["checked"] == "base":
        runs = base.runs
        flag = "attention_backend" if isinstance(ctx.argument("attention_backend"), str) else None
        if isinstance(runs, str) and runs not in row["backends"] and (flag or base.origin == "default"):
            yield _finding(ctx, row, Used(runs, flag, base.source))
        return
    half = _half(ctx)
    if half is not None:
        yield _missing(ctx, row, half)
        return
    for one in running(ctx):
        if one.name not in row["backends"]:
            yield _finding(ctx, row, one)
            return


def _half(ctx: Context) -> str | None:
    """The flag of the stage that has no backend when the class asks for both, where the other has one.

    A class whose own choice is made only while no flag is given leaves that stage without.
    """
    assert ctx.engine is not None
    target, _ = configs(ctx)
    assert target is not None
    own = attention_facts(ctx.engine).get("defaults", {}).get(target.architecture or "")
    if own is None or own["unset"] != "all":
        return None
    lacking = [stage for stage in ("prefill", "decode") if backend(ctx, stage)[0] is None]
    return f"{lacking[0]}_attention_backend" if len(lacking) == 1 else None


def _finding(ctx: Context, row: Mapping[str, Any], one: Used) -> Finding:
    assert ctx.engine is not None
    target, _ = configs(ctx)
    assert target is not None
    allowed = _allowed(row)
    return Finding(
        f"{target.architecture} runs on {allowed} only, but gets {one.word}"
        + picked_words(ctx, one).rstrip(","),
        path=picked_path(ctx, one),
        why=f"sglang {ctx.engine.version} stops with an AssertionError while it reads its arguments",
        help=f"leave {one.flag} out, or choose {allowed}"
        if one.flag
        else f"write attention_backend: {allowed}",
        evidence=_evidence(ctx, row),
        values={"backend": one.name, "class": target.architecture},
    )


def _missing(ctx: Context, row: Mapping[str, Any], flag: str) -> Finding:
    assert ctx.engine is not None
    target, _ = configs(ctx)
    assert target is not None
    return Finding(
        f"{target.architecture} does not start without {flag} in sglang {ctx.engine.version}",
        path=ctx.where("server"),
        why="the class asserts which backend runs before the engine picks one (AssertionError)",
        help=f"write {flag}: {_allowed(row)}",
        evidence=_evidence(ctx, row),
        values={"flag": flag, "class": target.architecture},
    )


def _allowed(row: Mapping[str, Any]) -> str:
    return either([name for name in row["backends"] if name not in OTHER_MAKERS])


def _evidence(ctx: Context, row: Mapping[str, Any]) -> tuple[Evidence, ...]:
    assert ctx.engine is not None
    return (Evidence(f"sglang {ctx.engine.facts_of}", "attention_backend", source_of(row)),)


RULE = Rule(
    id="EC343",
    slug="class-backend",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC301", "EC304", "EC342", "EC508"),
)
