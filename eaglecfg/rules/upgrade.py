"""The same files under several versions of the engine: what each makes of them, and what changes between."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from eaglecfg.engines.boundaries import Boundaries
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.flags import UNREADABLE, FlagFact
from eaglecfg.engines.resolve import Resolution, Setting
from eaglecfg.engines.table import load_facts
from eaglecfg.errors import UsageError
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.outcome import Report, Reported
from eaglecfg.rules.runner import under_version, validate
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document

if TYPE_CHECKING:
    from eaglecfg.checkpoint.hubid import HubAccess

FlagPair = tuple[FlagFact, FlagFact]
Place = tuple[str, str | None]
"""File and deployment; no deployment for what concerns the file as a whole."""


@dataclass(frozen=True, slots=True)
class View:
    """The files under one version.

    ``contexts`` are those of the deployments; ``facts`` None for an engine that is not known.
    """

    version: str
    facts: EngineFacts | None
    report: Report
    contexts: Mapping[Place, Context]


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes for one deployment, or for one file, from one version to the next.

    ``boundaries`` are set where other layers are captured, or captured in another way. ``settings`` are pairs
    of the same setting. ``appear`` and ``vanish`` are findings of one side only; ``differ`` pairs of findings
    of one rule at one place that say different things.
    """

    place: Place
    before: str
    after: str
    boundaries: tuple[Boundaries | None, Boundaries | None] | None = None
    settings: tuple[tuple[Setting, Setting], ...] = ()
    appear: tuple[Reported, ...] = ()
    vanish: tuple[Reported, ...] = ()
    differ: tuple[tuple[Reported, Reported], ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether the two versions come to the same."""
        return not (self.boundaries or self.settings or self.appear or self.vanish or self.differ)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Several versions side by side, and the differences from each to the next.

    ``defaults`` are, for each step from one version to the next, the flags that no deployment gives and whose
    default changes.
    """

    documents: tuple[Document, ...]
    views: tuple[View, ...]
    differences: tuple[Difference, ...] = ()
    defaults: tuple[tuple[FlagPair, ...], ...] = ()

    def of(self, place: Place) -> tuple[Difference, ...]:
        """The differences of one deployment or file, in the order of the versions."""
        return tuple(each for each in self.differences if each.place == place)

    @property
    def places(self) -> tuple[Place, ...]:
        """Files first, each followed by its deployments."""
        return tuple(dict.fromkeys(each.place for each in self.differences))


def look_ahead(
    documents: Sequence[Document],
    versions: Sequence[str],
    *,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    require: Collection[str] = (),
    deployments: Collection[str] = (),
    deep: bool = False,
    hub: Callable[[], HubAccess] | None = None,
) -> Upgrade:
    """Check ``documents`` under each of ``versions``; a single one is compared with the files' own.

    That may be the same one: then there is no difference.

    The other arguments are those of ``validate``. Raises UsageError as that does, and where a single version
    is given and the files name no version, or several.
    """
    checkpoints = Checkpoints(deep, hub)
    views = []
    for version in _compared(documents, versions):
        report = validate(
            documents,
            select=select,
            ignore=ignore,
            require=require,
            deployments=deployments,
            engine_version=version,
            checkpoints=checkpoints,
        )
        contexts = dict(_contexts(documents, version, deployments, checkpoints))
        facts = next((each.engine for each in contexts.values()), None) or load_facts("sglang", version)
        views.append(View(version, facts, report, contexts))
    places = list(_places(documents, views[0]))
    steps = list(pairwise(views))
    differences = [_difference(place, *step) for step in steps for place in places]
    defaults = [tuple(_other_defaults(*step)) for step in steps]
    return Upgrade(tuple(documents), tuple(views), tuple(differences), tuple(defaults))


def _compared(documents: Sequence[Document], versions: Sequence[str]) -> Sequence[str]:
    wanted = list(dict.fromkeys(versions))
    if len(wanted) > 1:
        return wanted
    configs = [load_config(document) for document in documents if kind_of(document) != "study"]
    own = list(dict.fromkeys(each.engine.version for each in configs if each.engine is not None))
    if len(own) != 1:
        says = f"name several ({', '.join(own)})" if own else "name no engine version to compare it with"
        raise UsageError(f"--engine-version {wanted[0]}: the files {says}; give two versions, as in A,B")
    return [*own, *wanted]


def _contexts(
    documents: Sequence[Document], version: str, only: Collection[str], checkpoints: Checkpoints
) -> Iterator[tuple[Place, Context]]:
    for document in documents:
        if kind_of(document) == "study":
            continue
        config = under_version(load_config(document), version)
        for each in config.deployments:
            if not only or each.name in only:
                yield (document.name, each.name), deployment_context(config, each, checkpoints)


def _places(documents: Sequence[Document], view: View) -> Iterator[Place]:
    for document in documents:
        yield document.name, None
        yield from (place for place in view.contexts if place[0] == document.name)


def _difference(place: Place, before: View, after: View) -> Difference:
    old, new = before.contexts.get(place), after.contexts.get(place)
    vanish, appear, differ = _compare_findings(
        _findings(before, place), _findings(after, place), before, after
    )
    boundaries = None
    settings: tuple[tuple[Setting, Setting], ...] = ()
    if old is not None and new is not None:
        boundaries = _compare_boundaries(old.boundaries, new.boundaries)
        settings = tuple(_compare_settings(old.resolution, new.resolution))
    return Difference(place, before.version, after.version, boundaries, settings, appear, vanish, differ)


def _compare_boundaries(
    old: Boundaries | None, new: Boundaries | None
) -> tuple[Boundaries | None, Boundaries | None] | None:
    if _what_is_captured(old) == _what_is_captured(new):
        return None
    return old, new


def _what_is_captured(found: Boundaries | None) -> object:
    return None if found is None else (found.outcome, found.captured, found.decode, found.residual)


def _compare_settings(old: Resolution | None, new: Resolution | None) -> Iterator[tuple[Setting, Setting]]:
    if old is None or new is None:
        return
    given = {*old.settings, *new.settings}
    for name in sorted(given):
        pair = old.get(name), new.get(name)
        if (pair[0].runs, pair[0].origin) != (pair[1].runs, pair[1].origin):
            yield pair


def _other_defaults(before: View, after: View) -> Iterator[FlagPair]:
    if before.facts is None or after.facts is None:
        return
    settled = {
        name
        for view in (before, after)
        for context in view.contexts.values()
        if context.resolution is not None
        for name in context.resolution.settings
    }
    old, new = before.facts.flags, after.facts.flags
    for name in sorted((set(old) & set(new)) - settled):
        defaults = old[name].default, new[name].default
        # Off is spelled false, null or an empty list, and that changes without any meaning; so does null
        # where the engine has begun to work the value out.
        if defaults[0] != defaults[1] and all(defaults) and UNREADABLE not in defaults:
            yield old[name], new[name]


def _findings(view: View, place: Place) -> list[Reported]:
    return [found for found in view.report.findings if (found.document.name, found.deployment) == place]


Pairs = tuple[tuple[Reported, Reported], ...]


def _compare_findings(
    old: Sequence[Reported], new: Sequence[Reported], before: View, after: View
) -> tuple[tuple[Reported, ...], tuple[Reported, ...], Pairs]:
    """(only before, only after, pairs of one rule and place that differ)."""
    said_before = Counter(_sentence(found, before) for found in old)
    said_after = Counter(_sentence(found, after) for found in new)
    vanish = _left(old, said_after, before)
    appear = _left(new, said_before, after)
    differ = []
    for gone in list(vanish):
        twin = next((each for each in appear if _spot(each) == _spot(gone)), None)
        if twin is not None:
            differ.append((gone, twin))
            vanish.remove(gone)
            appear.remove(twin)
    return tuple(vanish), tuple(appear), tuple(differ)


def _left(findings: Sequence[Reported], others: Counter[object], view: View) -> list[Reported]:
    """The findings that the other side does not have, each of its own counted once."""
    left, rest = [], others.copy()
    for found in findings:
        key = _sentence(found, view)
        if rest[key]:
            rest[key] -= 1
        else:
            left.append(found)
    return left


def _spot(found: Reported) -> tuple[object, ...]:
    return found.rule.id, found.finding.path


def _sentence(found: Reported, view: View) -> object:
    """What a finding says, whatever version it says it of."""
    names = {view.version, view.facts.facts_of if view.facts is not None else view.version}
    # 0.5.10 is not meant by 0.5.10.post1.
    one = "|".join(re.escape(name) for name in names)
    text = re.sub(rf"(?<![\w.])(?:{one})(?!\w|\.\w)", "this version", found.finding.message)
    return *_spot(found), found.severity, text
