"""EC347: a draft beside a server that only embeds."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today

FLAG = "is_embedding"


def check(ctx: Context) -> Iterator[Item]:
    """Where nothing is generated, nothing is drafted."""
    assert ctx.engine is not None
    assert ctx.resolution is not None
    if algorithm(ctx) is None or ctx.resolution.runs(FLAG) is not True:
        yield NotApplicable()
        return
    drafts = ctx.model.draft is not None
    yield Finding(
        f"{FLAG} makes a server that generates nothing, so that "
        + ("the draft is loaded and never runs" if drafts else "there is nothing to speculate about"),
        path=ctx.argument_path(FLAG),
        why="the scheduler hands every batch to the target alone, which returns its pooled states; the draft "
        "takes memory that the cache could have",
        help=f"set speculative: off where embeddings are served, or leave out {FLAG} where text is",
        evidence=(
            Evidence(
                f"sglang {ctx.engine.facts_of}",
                "forward_batch_embedding",
                ctx.engine.sources["embedding_batches"],
            ),
        ),
        related=((ctx.where("draft"), "loaded, and never asked"),) if drafts else (),
        values={FLAG: True},
    )


RULE = Rule(
    id="EC347",
    slug="embedding-server",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
)
