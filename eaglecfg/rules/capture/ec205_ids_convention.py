"""Ids that look as if they counted something else than this engine version takes them to count."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.boundaries import Boundaries
from eaglecfg.rules.capture.elsewhere import captures_of
from eaglecfg.rules.capture.ids import (
    depth_line,
    draft_config,
    engine_line,
    ids_line,
    ids_path,
    layers,
    shift_lines,
    spelled,
    target_config,
    third_points,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.versions import in_words, newest_version

Ids = tuple[int, ...]


def check(context: Context) -> Iterator[Item]:
    """Without trained boundaries, compare the ids with the patterns that trainers write."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if context.trained is not None or not found.ids or found.outcome != "captured" or n is None:
        yield NotApplicable()
        return
    ids = tuple(sorted(found.ids))
    outputs = tuple(boundary - 1 for boundary in third_points(n))
    if found.offset == 1 and ids == third_points(n):
        yield _finding(context, found, "boundaries", f"[2, {n} // 2, {n} − 3]", Severity.WARNING)
    elif found.offset == 0 and ids == outputs:
        yield _finding(context, found, "layer outputs", f"[1, {n} // 2 − 1, {n} − 4]", Severity.WARNING)
    else:
        notes = list(_version_dependent(context, found, n))
        usual = outputs if found.offset == 1 else third_points(n)
        yield from notes or (() if ids == usual else _both_readings(context, found, n))


def _finding(context: Context, found: Boundaries, like: str, pattern: str, severity: Severity) -> Finding:
    assert found.ids is not None
    ids = tuple(sorted(found.ids))
    meant = ids if like == "boundaries" else tuple(boundary + 1 for boundary in ids)
    does = "adds 1 and captures" if found.offset == 1 else "adds nothing and captures"
    return Finding(
        f"capture ids {spelled(found.ids)} follow the pattern {pattern} of {like}, which would mean "
        f"{spelled(meant)}, but {engine_label(context)} {does} {spelled(found.captured)}",
        path=ids_path(context),
        severity=severity,
        why="if the draft was trained on the first, it is fed neighbouring layers: no error, only a low "
        "accept length; SpecForge writes layer outputs ([1, n//2 − 1, n − 4]), speculators and vLLM "
        "write boundaries",
        help="look up what the draft was trained on and declare capture.trained_boundaries: "
        f"{spelled(meant)} or {spelled(found.captured)}",
        evidence=_evidence(context),
        values={"ids": list(found.ids), "effective_boundaries": list(found.captured)},
        arithmetic=shift_lines(found.ids, found.shifted, layers(context)),
    )


def _both_readings(context: Context, found: Boundaries, n: int) -> Iterator[Item]:
    """Worth knowing: ids of no known pattern could count either, and nothing in the files settles it."""
    ids = found.ids or ()
    if len(found.shifted) != len(ids) or max(ids) > n:
        return
    one = found.offset == 1
    other = tuple(sorted(ids)) if one else tuple(sorted(i + 1 for i in ids))
    yield Finding(
        f"{engine_label(context)} takes capture ids {spelled(ids)} for "
        f"{'layer outputs' if one else 'boundaries'} and captures {spelled(found.captured)}; counted as "
        f"{'boundaries' if one else 'layer outputs'} they would mean {spelled(other)}",
        path=ids_path(context),
        severity=Severity.INFO,
        today=Today.NOTHING,
        why="no pattern shows which a trainer meant: SpecForge writes layer outputs, speculators and vLLM "
        "write boundaries (the state that enters a layer)",
        help="declare capture.trained_boundaries, so that eaglecfg proves it",
        evidence=_evidence(context),
        values={"ids": list(ids), "effective_boundaries": list(found.captured), "otherwise": list(other)},
        arithmetic=shift_lines(found.ids, found.shifted, n),
    )


def _version_dependent(context: Context, found: Boundaries, n: int) -> Iterator[Item]:
    """Worth knowing: the same ids come to other boundaries in other versions of this engine."""
    assert context.engine is not None
    name = target_config(context).architecture or ""
    ends = [facts.captures.get(name) for facts in (context.engine, newest_version(context.engine))]
    if all(fact is None or fact.rule == "plus_one" for fact in ends):
        return  # classes begin with adding 1 and then change once; reading all versions would cost 40 ms
    captures = captures_of(context, found.ids, n)
    readings: dict[Ids, list[str]] = {}
    for version, got in captures.items():
        if got is not None:
            readings.setdefault(got, []).append(version)
    if len(readings) < 2:
        return
    known = list(captures)
    parts = [f"{spelled(got)} in {in_words(known, versions)}" for got, versions in readings.items()]
    yield Finding(
        f"capture ids {spelled(found.ids or ())} mean {spelled(found.captured)} in "
        f"{engine_label(context)}, but not in every version: {'; '.join(parts)}",
        path=ids_path(context),
        severity=Severity.INFO,
        today=Today.NOTHING,
        why="an upgrade of the engine can change the captured layers while every file stays the same",
        help="declare capture.trained_boundaries, so that eaglecfg stops such an upgrade",
        evidence=_evidence(context),
        values={"ids": list(found.ids or ()), "effective_boundaries": list(found.captured)},
    )


def _evidence(context: Context) -> tuple[Evidence, ...]:
    return (
        ids_line(draft_config(context), "ids as the engine reads them"),
        depth_line(target_config(context), "depth of the target"),
        engine_line(context),
    )


RULE = Rule(
    id="EC205",
    slug="capture-ids-convention",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=(
        "EC202",
        "EC203",
        "EC204",
        "EC206",
        "EC901",
        *UNLOADABLE,
    ),
    research=("IDS-06", "IDS-07", "IDS-10"),
)
