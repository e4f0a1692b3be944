"""EC344: an attention backend that the engine does not run on the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.attention import DRAFT_FLAG, FLAGS, attention_facts, attention_kind, chosen
from eaglecfg.engines.table import source_of
from eaglecfg.record import record
from eaglecfg.rules.arguments.backends import Used, configs, gpu_of, picked_path, picked_words, running, used
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

FAMILIES = {8: "Ampere and Ada", 9: "Hopper", 10: "B200 and its kin", 11: "Thor", 12: "RTX Blackwell"}


@record
class Bound:
    """A backend with the major compute capabilities that it runs on here. ``runner``: the model's runner
    looks, not the arguments; ``what`` is whose."""

    one: Used
    majors: tuple[int, ...]
    row: Mapping[str, Any]
    runner: bool = False
    what: str = ""


def check(ctx: Context) -> Iterator[Item]:
    """Every backend that is bound to a GPU family has it."""
    bounds = list(_bounds(ctx))
    if not bounds:
        yield NotApplicable()
        return
    gpu, major = gpu_of(ctx)
    if gpu is None:
        yield NotChecked("needs the hardware block")
        return
    if major is None:
        yield NotChecked(f"needs a GPU that eaglecfg knows, and hardware.gpu is {gpu}")
        return
    broken = next((one for one in bounds if major not in one.majors), None)
    if broken is not None:
        yield _finding(ctx, broken, gpu, major)


def _bounds(ctx: Context) -> Iterator[Bound]:
    assert ctx.engine is not None
    table = attention_facts(ctx.engine).get("gpus", {})
    for key, flag in FLAGS.items():
        name = ctx.argument(flag)
        row = table.get(name) if isinstance(name, str) else None
        if row is not None and key in row:
            yield Bound(Used(name, flag), tuple(row[key]), row)
    target, draft = configs(ctx)
    stages = running(ctx)
    for stage, one in (("decode_stage", used(ctx, "decode")), ("prefill_stage", used(ctx, "prefill"))):
        row = table.get(one.name) if one is not None else None
        if one is not None and row is not None and stage in row:
            yield Bound(one, tuple(row[stage]), row)
    for one in stages:
        yield from _of_runner(ctx, one, target, "the target")
    if ctx.speculates and algorithm(ctx) in EAGLE_FAMILY:
        own = ctx.argument(DRAFT_FLAG)
        for one in [Used(own, DRAFT_FLAG)] if isinstance(own, str) else stages:
            yield from _of_runner(ctx, one, draft, "the draft")


def _of_runner(ctx: Context, one: Used, config: ModelConfig | None, what: str) -> Iterator[Bound]:
    assert ctx.engine is not None
    row = attention_facts(ctx.engine).get("gpus", {}).get(one.name, {})
    kind = attention_kind(ctx.engine, config)
    by_kind = row.get("runner", {})
    if kind in by_kind:
        yield Bound(one, tuple(by_kind[kind]), row, True, what)
    elif by_kind:  # a class that is unknown may have either
        yield Bound(
            one, tuple(sorted({major for some in by_kind.values() for major in some})), row, True, what
        )


def _finding(ctx: Context, bound: Bound, gpu: str, major: int) -> Finding:
    assert ctx.engine is not None
    one, row = bound.one, bound.row
    families = ", ".join(f"{number} ({FAMILIES.get(number, 'other')})" for number in bound.majors)
    kind = attention_kind(ctx.engine, configs(ctx)[0 if bound.what == "the target" else 1])
    of = f" for {bound.what}'s latent attention" if bound.runner and kind == "mla" else ""
    when = "after it has loaded the weights" if bound.runner else "while it reads its arguments"
    return Finding(
        f"{one.word}{picked_words(ctx, one)} does not run on {gpu}{of}",
        path=picked_path(ctx, one),
        why=f"sglang {ctx.engine.version} takes it{of} on compute capability {families} only, and {gpu} is "
        f"{major}.x; it stops {when}",
        help=_help(ctx, one, major),
        evidence=(Evidence(f"sglang {ctx.engine.facts_of}", one.name, source_of(row)),),
        related=((ctx.where("hardware", "gpu"), f"compute capability {major}.x"),),
        today=Today.CRASH_AT_START if bound.runner else None,
        values={"backend": one.name, "gpu": gpu, "majors": list(bound.majors)},
    )


def _help(ctx: Context, one: Used, major: int) -> str:
    assert ctx.engine is not None
    if one.flag is None:
        return "write attention_backend: triton or flashinfer"
    if one.flag == DRAFT_FLAG:
        return f"choose another {DRAFT_FLAG}, or leave it out where the target's takes the draft too"
    target, _ = configs(ctx)
    free = {name: found.value for name, found in (ctx.arguments or {}).items()}
    free |= dict.fromkeys(FLAGS.values())
    picks = chosen(ctx.engine, target, free, major).backend
    return f"leave {one.flag} out" + (f": the engine then picks {picks}" if picks else ", or choose another")


RULE = Rule(
    id="EC344",
    slug="backend-gpu",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301", "EC304", "EC342", "EC343"),
)
