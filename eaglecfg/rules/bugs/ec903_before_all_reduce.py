"""Some versions capture a state before the all-reduce that completes it."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.fusion import OFF, fusion_of
from eaglecfg.rules.capture.ids import engine_line, target_config
from eaglecfg.rules.capture.reach import FOLLOWS, OUT_OF_REACH
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.versions import later_versions


def check(context: Context) -> Iterator[Item]:
    """Worth knowing where the class adds up a state while the layer leaves its all-reduce to the next
    one."""
    found, resolution, hardware = context.boundaries, context.resolution, context.model.hardware
    assert found is not None
    assert context.engine is not None
    assert resolution is not None
    ranks = resolution.runs("tp_size") or 1
    if not found.deferred or found.outcome != "captured" or ranks < 2:
        yield NotApplicable()
        return
    name = target_config(context).architecture or ""
    gpu = hardware.gpu if hardware is not None else None
    fusion = fusion_of(context.engine, name, resolution, gpu)
    if fusion.runs is None:
        yield NotChecked("needs hardware.gpu: whether all-reduce is fused depends on it")
    if not fusion.runs:
        return
    fixed = _first_whole(context, name)
    yield Finding(
        f"{engine_label(context)} takes the states of {name} before the all-reduce that completes them, "
        f"because {'it was asked to fuse' if fusion.asked else 'by default it fuses'} all-reduce on "
        f"{gpu} with {ranks} ranks",
        path=("engine", "version"),
        why="each rank then adds the residual to its own part of the last layer's sum, and the draft was "
        "trained on the whole, so that the accept length can fall in silence. No more than a note: "
        "this was read in the code and not seen in a run",
        help=(f"run {context.engine.name} {fixed} or later, " if fixed else "")
        + f"{'or ' if fixed else ''}compare the accept length with server.{OFF}: true",
        evidence=(engine_line(context),),
        values={"target_architecture": name, "tp_size": ranks, "gpu": gpu},
    )


def _first_whole(context: Context, name: str) -> str | None:
    """The first later version in which the class captures whole states."""
    assert context.engine is not None
    for facts in later_versions(context.engine):
        fact = facts.captures.get(name)
        if fact is not None and fact.usable and not fact.deferred:
            return facts.version
    return None


RULE = Rule(
    id="EC903",
    slug="states-before-all-reduce",
    severity=Severity.INFO,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=("EC902", *FOLLOWS, *OUT_OF_REACH),
)
