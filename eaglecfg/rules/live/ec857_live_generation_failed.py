"""The server did not generate what it was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today

if TYPE_CHECKING:
    from eaglecfg.rules.live.running import Generations


def check(ctx: Context) -> Iterator[Item]:
    """Whether every request of the check was answered in full."""
    running = ctx.running
    assert running is not None
    generations = running.generations
    if generations is None:
        yield NotApplicable()
    elif generations.failed:
        sent = generations.answered + generations.failed
        yield Finding(
            f"the server at {running.url} failed {_of(generations)}: {generations.problem}",
            path=ctx.where(),
            at_key=True,
            help="name the variable that holds the server's key with --live-key"
            if generations.problem.startswith(("HTTP 401", "HTTP 403"))
            else "look into the server's log; where a router answers for it, name the server itself",
            values={"failed": generations.failed, "sent": sent},
        )
    elif not generations.answered:
        yield NotChecked(f"nothing was generated: {generations.problem}")


def _of(generations: Generations) -> str:
    """``3 of 24 requests``, or how many of those planned were sent at all."""
    sent = generations.answered + generations.failed
    requests = "request" if sent == 1 else "requests"
    if generations.planned <= sent:
        return f"{generations.failed} of {sent} {requests}"
    which = (
        f"the first {sent} {requests}"
        if generations.failed == sent
        else f"{generations.failed} of {sent} {requests}"
    )
    return f"{which}, and the other {generations.planned - sent} of {generations.planned} were not sent"


RULE = Rule(
    id="EC857",
    slug="live-generation-failed",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    needs=(Need.RUNNING,),
)
