"""The server that was to be looked at does not say what it runs."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Whether /server_info was answered."""
    running = ctx.running
    if running is None:
        yield NotApplicable()
    elif running.problem:
        yield Finding(
            f"the server at {running.url} does not say what it runs: {running.problem}",
            path=ctx.where(),
            at_key=True,
            help=running.help,
            values={"url": running.url},
            incomplete=True,
            lack="the running server did not answer",
        )


RULE = Rule(
    id="EC851",
    slug="live-unanswered",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
)
