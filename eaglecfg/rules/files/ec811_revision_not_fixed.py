"""A hub id without a commit may be another model tomorrow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.checkpoint.load import HUB
from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import checkpoints
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today

COMMIT = r"[0-9a-f]{40}"


def check(context: Context) -> Iterator[Item]:
    """``revision`` of a hub id should be a commit: branches and tags move."""
    hub = 0
    for side, facts in checkpoints(context):
        if not any(problem.key == HUB for problem in facts.problems):
            continue
        hub += 1
        named = context.model.target if side == "target" else context.model.draft
        assert named is not None
        if named.revision is not None and re.fullmatch(COMMIT, named.revision):
            continue
        given = f"revision {named.revision}, which can move" if named.revision else "no revision"
        key = "revision" if named.revision else "checkpoint"
        yield Finding(
            f"{side}.checkpoint is the hub id {facts.shown} at {given}",
            context.where(side, key),
            why="the server downloads whatever stands there when it starts, which nobody has checked",
            help=f"give {side}.revision the full commit hash",
            values={"checkpoint": facts.shown, "revision": named.revision},
        )
    if not hub:
        yield NotApplicable()


RULE = Rule(
    id="EC811",
    slug="revision-not-fixed",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    research=("OVR-03",),
)
