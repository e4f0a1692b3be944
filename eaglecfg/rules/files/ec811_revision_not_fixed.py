"""A hub id without a commit may be another model tomorrow."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import checkpoints
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give


def check(context: Context) -> Iterator[Item]:
    """``revision`` of a hub id should be a commit: branches and tags move."""
    hub = 0
    for side, facts in checkpoints(context):
        if facts.hub is None:
            continue
        hub += 1
        named = facts.hub.id
        if named.fixed:
            continue
        given = f"revision {named.asked}, which can move" if named.asked else "no revision"
        at = f"; today {named.revision} is {facts.hub.commit}" if facts.hub.commit else ""
        yield Finding(
            f"{side}.checkpoint is the hub id {named.repo} at {given}{at}",
            context.where(side, "revision" if named.key else "checkpoint"),
            why="the server downloads whatever stands there when it starts, which nobody has checked",
            help=f"give {side}.revision the full commit hash" + (f", {facts.hub.commit}" * bool(at)),
            fix=_fix(context, side, facts.hub.commit),
            values={"checkpoint": named.repo, "revision": named.asked, "commit": facts.hub.commit},
        )
    if not hub:
        yield NotApplicable()


def _fix(context: Context, side: str, commit: str | None) -> Fix | None:
    """The commit that the revision stands for today."""
    if not commit:
        return None
    assert context.whole is not None
    given = context.whole.origin.get((side, "revision"))
    if given is not None:
        return Fix(f"set {side}.revision to {commit}", given, commit, safe=False)
    return give(context, (side, "revision"), commit)


RULE = Rule(
    id="EC811",
    slug="revision-not-fixed",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    research=("OVR-03",),
)
