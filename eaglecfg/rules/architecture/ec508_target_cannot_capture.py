"""The target's class must be able to capture hidden states in this engine version."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.architecture.drafts import runs_eagle3
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotChecked, Rule, Severity, Today
from eaglecfg.rules.versions import later_versions

_TODAY = {"crash_at_first_request": Today.CRASH_AT_FIRST_REQUEST, "nothing": Today.SILENT}


def check(context: Context) -> Iterator[Item]:
    """Find the class among those that capture."""
    assert context.engine is not None
    assert context.target is not None
    assert context.target.config is not None
    name = context.target.config.architecture
    if not runs_eagle3(context) or name is None:
        return
    fact = context.engine.captures.get(name)
    if fact is not None and fact.usable:
        return
    if fact is None and context.engine.standing in ("newer", "development"):
        yield NotChecked(f"{engine_label(context)} is newer than the facts, and {name} is not among them")
        return
    label, since = engine_label(context), _first_usable(context, name)
    reason = f": {fact.reason}" if fact is not None and fact.reason else ""
    cannot = (
        f"the target's class {name} cannot capture hidden states for EAGLE-3 in {label}{reason}"
        if name in context.engine.architectures or fact is not None
        else f"{label} cannot run {name}, the class that {context.target.config.file} names"
    )
    yield Finding(
        cannot + (f"; {context.engine.name} {since} is the first version that can" if since else ""),
        path=context.where("target", "checkpoint"),
        related=((("engine", "version"), "the version that runs"),),
        today=_TODAY.get(fact.outcome) if fact is not None else None,
        why="EAGLE-3 reads states from inside the target, and each target class needs code that hands "
        "them out",
        help=f"run {context.engine.name} {since} or later, or set speculative: off"
        if since
        else f"no version of {context.engine.name} known to eaglecfg can: set speculative: off, or use "
        "another algorithm that this target supports",
        evidence=(
            config_line(context.target.config, "architectures", "cannot capture"),
            *(
                (Evidence(f"{context.engine.name} {fact.read_in}", fact.source, fact.reason),)
                if fact is not None
                else ()
            ),
        ),
        values={"target_architecture": name, "first_version": since},
    )


def _first_usable(context: Context, name: str) -> str | None:
    """The first version after this one in which the class captures."""
    assert context.engine is not None
    for facts in later_versions(context.engine):
        fact = facts.captures.get(name)
        if fact is not None and fact.usable:
            return facts.version
    return None


RULE = Rule(
    id="EC508",
    slug="target-cannot-capture",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC503", "EC506"),
    research=("ALG-09", "ALG-10", "ALG-11", "ALG-12"),
)
