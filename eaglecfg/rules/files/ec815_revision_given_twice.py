"""A hub id with a revision of its own, and a ``revision`` key that says something else."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.fault import legible
from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import checkpoints
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """``org/name@revision`` and ``revision`` must agree: two readers could take two models."""
    hub = 0
    for side, facts in checkpoints(context):
        named = facts.hub.id if facts.hub is not None else None
        hub += named is not None
        if named is None or named.inline is None or named.key in (None, named.inline):
            continue
        checkpoint, key = context.where(side, "checkpoint"), context.where(side, "revision")
        yield Finding(
            f"{side}.checkpoint names the revision {legible(named.inline)} of {named.repo}, "
            f"{side}.revision names {legible(named.key or '')}",
            key,
            why="the key counts here and is what the engine is given, so the other one misleads",
            help="keep one of the two",
            related=((checkpoint, "the other revision"),),
            values={"checkpoint": named.inline, "revision": named.key},
        )
    if not hub:
        yield NotApplicable()


RULE = Rule(
    id="EC815",
    slug="revision-given-twice",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
)
