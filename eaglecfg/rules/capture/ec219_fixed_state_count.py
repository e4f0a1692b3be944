"""Older engine versions build fc for three states, whatever the ids say."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.draft_graphs import graph_width
from eaglecfg.engines.wiring import wiring_of
from eaglecfg.rules.capture.ids import (
    counted,
    draft_config,
    ids_line,
    ids_path,
    spelled,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Evidence, Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.versions import later_versions

FIXED = 3


def check(context: Context) -> Iterator[Item]:
    """Where this version's draft class is fixed to three states, three must be captured."""
    found, draft = context.boundaries, draft_config(context)
    assert found is not None
    assert context.engine is not None
    name = draft.architecture
    fact = context.engine.drafts.get(name) if name is not None else None
    if fact is None or fact.free_capture_count or found.outcome != "captured" or len(found.captured) == FIXED:
        return
    yield Finding(
        f"{counted(len(found.captured), 'state')} {spelled(found.captured)} are captured, but "
        f"{engine_label(context)} builds fc for {FIXED}, whatever the ids "
        f"say{_first_free(context, name or '')}",
        path=ids_path(context),
        why="the fc in the file is wider or narrower than the one that this version builds",
        help="run a version that takes the number of states from the ids, or a draft with three",
        evidence=(
            ids_line(draft, counted(len(found.captured), "state")),
            Evidence(
                f"{context.engine.name} {context.engine.facts_of}", fact.source, f"fc is {FIXED} states wide"
            ),
        ),
        values={"captured_states": len(found.captured), "fc_states": FIXED},
        arithmetic=(f"{FIXED} expected, {len(found.captured)} captured",),
    )


def _first_free(context: Context, name: str) -> str:
    """The first later version that follows the ids in all that it sizes, and what is between, in words."""
    assert context.engine is not None
    target, draft = target_config(context), draft_config(context)
    halfway: list[str] = []
    for facts in later_versions(context.engine):
        fact = facts.drafts.get(name)
        built = wiring_of(facts, target, draft) if fact is not None and fact.free_capture_count else None
        if built is None:
            continue
        width = graph_width(facts, target, draft)
        if width is None or width.features == built.fc_in:
            between = (
                f" ({halfway[0]} to {halfway[-1]} in fc, but not in the draft's CUDA graphs)"
                if halfway
                else ""
            )
            return f"; {facts.name} {facts.version} and later follow the ids{between}"
        halfway.append(facts.version)
    return ""


RULE = Rule(
    id="EC219",
    slug="fixed-state-count",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=("EC202", "EC203", *UNLOADABLE),
    research=("IDS-24", "VER-04"),
)
