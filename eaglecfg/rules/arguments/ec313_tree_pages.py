"""EC313: trees on a backend, or with pages, that cannot hold them."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.attention import CHAINS_ONLY, attention_facts
from eaglecfg.rules.arguments.backends import (
    Used,
    configs,
    given_backends,
    picked_path,
    picked_words,
    running,
)
from eaglecfg.rules.arguments.shape import asked
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


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    assert ctx.engine is not None
    assert ctx.resolution is not None
    topk = shape.topk if shape is not None else None
    if shape is not None and shape.open:
        topk = ctx.resolution.runs("speculative_eagle_topk")
    if not isinstance(topk, int) or topk <= 1:
        yield NotApplicable()
        return
    chains_only = _chains_only(ctx)
    if chains_only is not None:
        yield _chain(ctx, chains_only, topk)
        return
    page = ctx.resolution.get("page_size")
    allowed = ctx.engine.values.get("tree_page_backends")
    if not isinstance(page.runs, int) or page.runs <= 1:
        return
    base = ctx.resolution.get("attention_backend")
    if allowed is None or not isinstance(base.runs, str):
        yield NotChecked("needs server.attention_backend, which is left to the engine")
        return
    if base.runs not in allowed:
        yield _pages(ctx, base.runs, topk, page.runs)


def _chains_only(ctx: Context) -> Used | None:
    """The backend that verifies chains only, if one runs: given, or picked by the engine."""
    for flag, name in given_backends(ctx).items():
        if name == CHAINS_ONLY:
            return Used(name, flag)
    return next((one for one in running(ctx) if one.name == CHAINS_ONLY), None)


def _chain(ctx: Context, one: Used, topk: int) -> Finding:
    assert ctx.engine is not None
    related = ((ctx.argument_path("speculative_eagle_topk"), f"{topk} branches"),)
    other = _other(ctx)
    return Finding(
        f"eagle_topk must be 1 on {one.word}{picked_words(ctx, one) or ','} but is {topk}",
        path=picked_path(ctx, one),
        why="this backend verifies chains only; SGLang stops while it reads its arguments",
        help=f"write eagle_topk: 1, or {'choose' if one.flag else 'write attention_backend:'} {other}",
        evidence=(Evidence(f"sglang {ctx.engine.facts_of}", "attention_backend", one.source),)
        if one.source
        else (),
        related=related,
        values={"eagle_topk": topk, one.flag or "attention_backend": CHAINS_ONLY},
    )


def _other(ctx: Context) -> str:
    """Backends that draft trees and that the target's class runs on."""
    assert ctx.engine is not None
    target, _ = configs(ctx)
    name = target.architecture if target is not None else None
    row = attention_facts(ctx.engine).get("class_backends", {}).get(name or "")
    names = ("flashinfer", "fa3") if row is None else ("triton", "fa3")
    return " or ".join(one for one in names if row is None or one in row["backends"])


def _pages(ctx: Context, base: str, topk: int, page: int) -> Finding:
    assert ctx.engine is not None
    assert ctx.resolution is not None
    allowed = ctx.engine.values["tree_page_backends"]
    setting = ctx.resolution.get("page_size")
    flag = "attention_backend" if ctx.argument("attention_backend") is not None else None
    one = Used(base, flag, ctx.resolution.get("attention_backend").source)
    free = setting.origin == "asked"  # else the engine forces the pages, whatever is written
    is_now = f"is {page}" if free else f"the engine makes it {page} ({setting.why})"
    return Finding(
        f"page_size must be 1 for eagle_topk {topk} on {one.word}{picked_words(ctx, one) or ','} "
        f"but {is_now}",
        path=ctx.argument_path("page_size") if free else picked_path(ctx, one),
        why=f"sglang {ctx.engine.version} combines trees and pages on {', '.join(allowed)} only and stops "
        "while it reads its arguments",
        help=f"write {'page_size: 1 or ' if free else ''}eagle_topk: 1, or choose {' or '.join(allowed)}",
        evidence=_source(ctx, "tree_page_backends"),
        related=(
            *(((ctx.argument_path("attention_backend"), base),) if flag else ()),
            (ctx.argument_path("speculative_eagle_topk"), f"{topk} branches"),
        ),
        values={"page_size": page, "eagle_topk": topk, "attention_backend": base},
    )


def _source(ctx: Context, fact: str) -> tuple[Evidence, ...]:
    assert ctx.engine is not None
    source = ctx.engine.sources.get(fact)
    allowed = ", ".join(ctx.engine.values[fact])
    return (Evidence(f"sglang {ctx.engine.facts_of}", source, allowed),) if source else ()


RULE = Rule(
    id="EC313",
    slug="tree-pages",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC342", "EC343", "EC344"),
    research=("ARG-11", "ARG-12", "ARG-14"),
)
