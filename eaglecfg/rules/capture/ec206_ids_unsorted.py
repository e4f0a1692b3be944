"""States reach the draft in the order of the layers, whatever order the list has."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.boundaries import effective_boundaries
from eaglecfg.rules.capture.ids import (
    draft_config,
    engine_line,
    ids_line,
    ids_path,
    layers,
    spelled,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """A list that is not ascending is re-sorted by the engine: fc's column blocks then see other states."""
    found, trained = context.boundaries, context.trained
    assert found is not None
    if not found.ids or found.outcome != "captured":
        yield NotApplicable()
        return
    if list(found.ids) == sorted(found.ids) or (trained is not None and trained != found.shifted):
        return  # with other trained boundaries than the list says, the list is not the fault
    sorted_ids = tuple(sorted(found.ids))
    yield Finding(
        f"capture ids {spelled(found.ids)} are not ascending; {engine_label(context)} hands the states "
        f"over as {spelled(found.captured)}, not as {spelled(found.shifted)}",
        path=ids_path(context),
        severity=Severity.ERROR if trained is not None else Severity.WARNING,
        why="layers run in ascending order and the engine appends as they run; an fc that was trained in "
        "list order "
        "multiplies each state with the columns of another" + _sorted_reading(context, sorted_ids),
        help=f"if the draft was trained in list order, permute the column blocks of fc.weight and write "
        f"{spelled(sorted_ids)}; if not, only write {spelled(sorted_ids)}",
        evidence=(ids_line(draft_config(context), "not ascending"), engine_line(context)),
        values={"ids": list(found.ids), "effective_boundaries": list(found.captured)},
    )


def _sorted_reading(context: Context, ids: tuple[int, ...]) -> str:
    """Classes that look at the first id alone take the sorted list for something else."""
    architecture, n, found = target_config(context).architecture, layers(context), context.boundaries
    if context.engine is None or architecture is None or n is None or found is None:
        return ""
    other = effective_boundaries(context.engine, architecture, n, ids, graphs=False)
    if other is None or other.captured == found.captured:
        return ""
    return (
        f"; this class looks at the first id alone and would capture {spelled(other.captured)} for "
        f"{spelled(ids)}"
    )


RULE = Rule(
    id="EC206",
    slug="capture-ids-not-ascending",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=("EC202", "EC203", *UNLOADABLE),
    research=("IDS-08", "IDS-12"),
)
