"""EC313: trees on a backend, or with pages, that cannot hold them."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.backends import given_backends
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
    topk = shape.topk if shape is not None else None
    if shape is not None and shape.open and ctx.resolution is not None:
        topk = ctx.resolution.runs("speculative_eagle_topk")
    if not isinstance(topk, int) or topk <= 1:
        yield NotApplicable()
        return
    backends = given_backends(ctx)
    chains_only = next((flag for flag, name in backends.items() if name == "trtllm_mha"), None)
    if chains_only is not None:
        yield Finding(
            f"eagle_topk must be 1 on {chains_only} trtllm_mha, but is {topk}",
            path=ctx.argument_path(chains_only),
            why="this backend verifies chains only; SGLang stops while it reads its arguments",
            help="write eagle_topk: 1, or choose flashinfer or fa3",
            related=((ctx.argument_path("speculative_eagle_topk"), f"{topk} branches"),),
            values={"eagle_topk": topk, chains_only: "trtllm_mha"},
        )
        return
    page = ctx.argument("page_size")
    if not isinstance(page, int) or page <= 1:
        return
    allowed = ctx.engine.values.get("tree_page_backends")
    name = backends.get("attention_backend")
    if allowed is None or name is None:
        yield NotChecked("needs server.attention_backend, which is left to the engine")
        return
    if name in allowed:
        return
    yield Finding(
        f"page_size must be 1 for eagle_topk {topk} on attention_backend {name}, but is {page}",
        path=ctx.argument_path("page_size"),
        why=f"sglang {ctx.engine.version} combines trees and pages on {', '.join(allowed)} only and stops "
        "while it reads its arguments",
        help=f"write page_size: 1 or eagle_topk: 1, or choose {' or '.join(allowed)}",
        evidence=_source(ctx, "tree_page_backends"),
        related=(
            (ctx.argument_path("attention_backend"), name),
            (ctx.argument_path("speculative_eagle_topk"), f"{topk} branches"),
        ),
        values={"page_size": page, "eagle_topk": topk, "attention_backend": name},
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
    research=("ARG-11", "ARG-12", "ARG-14"),
)
