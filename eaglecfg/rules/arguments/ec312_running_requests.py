"""EC312: the limit on running requests that speculation sets."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    if algorithm(ctx) not in EAGLE_FAMILY:
        yield NotApplicable()
        return
    assert ctx.engine is not None
    limit = ctx.engine.values.get("max_running_requests")
    if limit is None or ctx.argument("max_running_requests") is not None:
        return
    yield Finding(
        f"max_running_requests is not given, and speculation sets it to {limit}",
        path=ctx.where("speculative"),
        why="further requests wait in the queue, whatever the machine could serve; one log line says so",
        help="set max_running_requests in the server block to the number you want to serve at once",
        values={"max_running_requests": limit},
    )


RULE = Rule(
    id="EC312",
    slug="running-requests",
    severity=Severity.INFO,
    today=Today.REWRITTEN,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("ARG-10",),
)
