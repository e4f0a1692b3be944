"""The server says that it speculates, but no answer carries counters of it."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Whether the answers of a speculating server tell what was accepted."""
    running = ctx.running
    assert running is not None
    measured = running.generations
    if measured is None or not measured.answered or not running.info.get("speculative_algorithm"):
        yield NotApplicable()
    elif not measured.counted:
        yield Finding(
            f"the server at {running.url} says that it runs {running.info['speculative_algorithm']}, but "
            f"none of {measured.answered} answers counts verify steps",
            path=ctx.where("speculative"),
            help="a router in between may drop meta_info: name the server itself; otherwise speculation does "
            "not run, and the server's log says why",
            values={"answered": measured.answered},
        )


RULE = Rule(
    id="EC860",
    slug="live-counters-missing",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    needs=(Need.RUNNING,),
)
