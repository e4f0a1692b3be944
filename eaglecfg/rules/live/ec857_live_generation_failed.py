"""The server did not generate what it was asked for."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today


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
            f"the server at {running.url} failed {generations.failed} of {sent} requests: "
            f"{generations.problem}",
            path=ctx.where(),
            at_key=True,
            help="look into the server's log; where a router answers for it, name the server itself",
            values={"failed": generations.failed, "sent": sent},
        )
    elif not generations.answered:
        yield NotChecked(f"nothing was generated: {generations.problem}")


RULE = Rule(
    id="EC857",
    slug="live-generation-failed",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    needs=(Need.RUNNING,),
)
