"""Two states of the config, file by file and deployment by deployment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eaglecfg.engines.flags import UNREADABLE
from eaglecfg.errors import UsageError
from eaglecfg.record import replace as record_replace
from eaglecfg.review.difference.alike import Pair
from eaglecfg.review.difference.as_read import inert
from eaglecfg.review.difference.contents import CONTENT, content_facts, is_served, prompts_fact
from eaglecfg.review.difference.effect import (
    GROUPS,
    MODEL_FLAGS,
    Effect,
    Fact,
    Facts,
    Group,
    effect_of,
    plain,
    setting_fact,
)
from eaglecfg.review.difference.findings import NO_CHANGES, FindingChanges, compare_findings, joined
from eaglecfg.review.difference.not_in_git import weights_not_in_git
from eaglecfg.review.difference.open import left_open, not_seen
from eaglecfg.review.difference.results import results_of_deployment, results_of_study
from eaglecfg.review.difference.sides import Side
from eaglecfg.review.difference.study import study_facts
from eaglecfg.review.difference.unread import Known, notes_of, unread, without_unknown
from eaglecfg.rules.context import deployment_context
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report, Reported
from eaglecfg.rules.runner import validate
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document


@dataclass(frozen=True, slots=True)
class Change:
    """One value that is another one now. None: there was none, or there is none any more. Not ``in_effect``
    is another spelling of what runs, or something that has no effect in either state."""

    group: Group
    name: str
    before: Fact | None
    after: Fact | None
    in_effect: bool = True


@dataclass(frozen=True, slots=True)
class DeploymentDifference:
    """One deployment. ``kind``: ``same``, ``changed``, ``added``, ``removed``, ``renamed`` (same content
    under another name; ``was`` is the old one). ``removed`` and ``added`` are options of the launch command
    with their values; where the kind is ``same``, the engine runs the same with both. ``results`` say which
    recorded results do not hold any more, or do hold."""

    name: str
    kind: str
    was: str = ""
    changes: tuple[Change, ...] = ()
    removed: tuple[tuple[str, ...], ...] = ()
    added: tuple[tuple[str, ...], ...] = ()
    before: Effect | None = None
    after: Effect | None = None
    results: tuple[str, ...] = ()

    @property
    def in_effect(self) -> bool:
        """Whether anything is served otherwise, or under another name."""
        return self.kind != "same"

    @property
    def respelled(self) -> bool:
        """Whether the same is served, by another command line, or of values that are spelled otherwise."""
        return self.kind == "same" and bool(self.removed or self.added or self.changes)

    @property
    def told(self) -> bool:
        """Whether there is anything to say of it."""
        return self.in_effect or self.respelled


@dataclass(frozen=True, slots=True)
class FileDifference:
    """One config or study file. ``name`` as shown.

    ``kind``: ``same``, ``changed``, ``added``, ``removed``, or ``unreadable``: a state of it is no YAML
    mapping, so that nothing but findings can be compared.

    ``changes`` are those of a study, and of defaults of flags that no deployment gives.
    """

    name: str
    kind: str
    study: bool
    deployments: tuple[DeploymentDifference, ...] = ()
    changes: tuple[Change, ...] = ()
    findings: FindingChanges = NO_CHANGES
    results: tuple[str, ...] = ()

    @property
    def in_effect(self) -> bool:
        """Whether anything but its text changes."""
        whole = self.kind in ("added", "removed")
        return whole or bool(self.changes) or any(each.in_effect for each in self.deployments)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both states and all that differs. ``notes`` say what has to be known to read it; ``unread`` are
    sentences about what the later state names and that could not be read, though the same could before, or
    was not named."""

    before: Side
    after: Side
    reports: tuple[Report, Report]
    files: tuple[FileDifference, ...]
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def in_effect(self) -> bool:
        """Whether anything but text changes."""
        return any(each.in_effect for each in self.files)

    @property
    def findings(self) -> FindingChanges:
        """The findings of all files together, the most severe first."""
        return joined([each.findings for each in self.files])

    @property
    def incomplete(self) -> bool:
        """Whether something became unreadable, or a required rule could not be checked in the later state."""
        report = self.reports[1]
        lacking = any(skip.rule.id in report.required for skip in report.not_checked)
        return bool(self.unread) or lacking or (bool(report.required) and bool(unread(report)))

    def exit_code(self, fail_on: Severity, *, any_change: bool = False) -> int:
        """0 nothing new at or above ``fail_on``; 1 something new, or with ``any_change`` any effect.

        2: a file of the later state is no YAML mapping. 3: something that the later state names could not
        be read, and not for the same reason as before, or a finding that may be new is not known to be, as
        the earlier state could not be read. 4: a rule crashed.

        Where several hold: 4, then 2, 1, 3.
        """
        if any(report.crashes for report in self.reports):
            return 4
        if any(not isinstance(document.data, dict) for document in self.after.documents.values()):
            return 2
        if self.findings.new_at(fail_on) or (any_change and self.in_effect):
            return 1
        return 3 if self.incomplete or self.findings.unsure_at(fail_on) else 0


def compare(
    before: Side,
    after: Side,
    *,
    deployments: Collection[str] = (),
    require: Collection[str] = (),
    **options: Any,
) -> Comparison:
    """Compare two files or two folders. ``options``, and what is raised, are those of ``validate``; of
    ``deployments`` each has to be on one side at least, and ``require`` is about the later state."""
    sides = before, after
    names = [_deployment_names(side) for side in sides]
    for name in deployments:
        if name not in names[0] | names[1]:
            raise UsageError(f"there is no deployment {name!r} in {before.spelled} or {after.spelled}")
    reports = []
    for side, required in zip(sides, ((), require), strict=True):
        documents = list(side.documents.values())
        report = validate(documents, checkpoints=side.checkpoints, require=required, **options)
        report = without_unknown(report, side)
        reports.append(_only(report, deployments) if deployments else report)
    was, now = reports
    pairs = [(name, before.documents.get(name), after.documents.get(name))
             for name in sorted(dict.fromkeys([*after.documents, *before.documents]))]  # fmt: skip
    known = Known(was)
    files = tuple(_file(sides, old, new, (was, now), known, deployments) for _, old, new in pairs)
    new = tuple(known.new(now))
    return Comparison(before, after, (was, now), files, tuple(notes_of(sides, (was, now), new)), new)


def _deployment_names(side: Side) -> set[str]:
    configs = [each for each in side.documents.values() if kind_of(each) != "study"]
    return {each.name for document in configs for each in load_config(document).deployments}


def _only(report: Report, deployments: Collection[str]) -> Report:
    """``report`` without what it says of other deployments."""
    wanted = {None, *deployments}
    return record_replace(
        report,
        findings=tuple(each for each in report.findings if each.deployment in wanted),
        not_checked=tuple(each for each in report.not_checked if each.deployment in wanted),
        dropped=tuple(each for each in report.dropped if each.deployment in wanted),
        accepted=tuple(each for each in report.accepted if each.found.deployment in wanted),
    )


def _file(
    sides: tuple[Side, Side],
    old: Document | None,
    new: Document | None,
    reports: tuple[Report, Report],
    known: Known,
    only: Collection[str],
) -> FileDifference:
    was, now = reports
    document = new or old
    assert document is not None
    study = kind_of(document) == "study"
    mapping = all(each is None or isinstance(each.data, dict) for each in (old, new))
    effects = (
        (_effects(sides[0], old, was, only), _effects(sides[1], new, now, only)) if mapping else ({}, {})
    )
    deployments = () if study else tuple(_with_results(each, document) for each in _deployments(*effects))
    excused = (
        [each for each in was.accepted if each.found.document is old],
        [each for each in now.accepted if each.found.document is new],
    )
    renamed = {each.was: each.name for each in deployments if each.was}
    findings = compare_findings(
        _of(was, old),
        _of(now, new),
        excused=excused,
        renamed=renamed,
        undecided=left_open(now, old, new) if new is not None else lambda _: False,
        unsure=not_seen(was, old, renamed),
        unread=known.texts,
    )
    if not mapping:
        return FileDifference(document.name, "unreadable", study, findings=findings)
    changes = tuple(_study(sides, old, new)) if study else tuple(_other_defaults(*effects))
    kind = "added" if old is None else "removed" if new is None else "same"
    if kind == "same" and (changes or any(each.in_effect for each in deployments)):
        kind = "changed"
    results = (
        tuple(results_of_study(document.name, document, [each.name for each in changes])) if study else ()
    )
    return FileDifference(document.name, kind, study, deployments, changes, findings, results)


def _with_results(found: DeploymentDifference, document: Document) -> DeploymentDifference:
    if found.before is None or found.kind not in ("changed", "removed"):
        return found
    groups = [(each.group, each.name) for each in found.changes if each.in_effect]
    groups += [("setting", "") for _ in (*found.removed, *found.added)]
    results = results_of_deployment(found.name, document, groups, found.before, found.after)
    return replace(found, results=tuple(results))


def _of(report: Report, document: Document | None) -> list[Reported]:
    """Findings of one file, those of a baseline among them."""
    return [one for one in (*report.findings, *report.known) if one.document is document]


def _effects(
    side: Side, document: Document | None, report: Report, only: Collection[str]
) -> dict[str, Effect]:
    if document is None or kind_of(document) == "study":
        return {}
    config, found = load_config(document), {}
    accepted = [each.found for each in report.accepted]
    fixes = [
        (one.deployment, one.finding.fix)
        for one in (*report.findings, *report.known, *accepted)
        if one.document is document and one.finding.fix is not None
    ]
    for each in config.deployments:
        if not only or each.name in only:
            context = deployment_context(config, each, side.checkpoints)
            effect = effect_of(context)
            contents = content_facts(side, document, effect)
            without = inert(context, [fix for name, fix in fixes if name in (None, each.name)])
            found[each.name] = record_replace(effect, facts={**effect.facts, **contents}, inert=without)
    return found


def _deployments(old: Mapping[str, Effect], new: Mapping[str, Effect]) -> Iterator[DeploymentDifference]:
    gone = {name: effect for name, effect in old.items() if name not in new}
    for name, after in new.items():
        if name in old:
            yield _deployment(name, old[name], after)
            continue
        twin = next((other for other, before in gone.items() if before.identity == after.identity), None)
        if twin is not None:
            yield DeploymentDifference(name, "renamed", twin, before=gone.pop(twin), after=after)
        else:
            yield DeploymentDifference(name, "added", added=after.launch, after=after)
    for name, before in gone.items():
        yield DeploymentDifference(name, "removed", removed=before.launch, before=before)


def _deployment(name: str, old: Effect, new: Effect) -> DeploymentDifference:
    pair = Pair(old, new)
    changes = tuple(
        replace(each, in_effect=not pair.alike_in_effect(each.group, each.name))
        for each in changes_between(old, new)
    )
    removed = tuple(_without(old.launch, new.launch))
    added = tuple(_without(new.launch, old.launch))
    kind = "same" if _runs_alike(changes, (*removed, *added), pair, old, new) else "changed"
    return DeploymentDifference(name, kind, "", changes, removed, added, old, new)


def _runs_alike(
    changes: Sequence[Change], options: Sequence[tuple[str, ...]], pair: Pair, old: Effect, new: Effect
) -> bool:
    """Whether all that differs is what is asked for, and the engine runs the same with both."""
    if any(each.in_effect for each in changes):
        return False
    one, two = old.context.resolution, new.context.resolution
    if one is None or two is None:
        return not options
    flags = {two.facts.flags.canonical(each[0]) for each in options}
    return all(pair.alike_in_effect("setting", flag) for flag in flags)


def changes_between(old: Effect, new: Effect) -> Iterator[Change]:
    """The facts that differ, those that matter most first."""
    names = dict.fromkeys([*old.facts, *new.facts])
    for group, name in sorted(names, key=lambda each: (GROUPS.index(each[0]), each[1])):
        if (
            not _same_file(group, name, old, new)
            or _one_sided(group, name, old)
            or _one_sided(group, name, new)
        ):
            continue
        before = old.facts.get((group, name)) or _unset(old, group, name)
        after = new.facts.get((group, name)) or _unset(new, group, name)
        if (before and before.key) != (after and after.key):
            yield Change(group, name, before, after)


def _same_file(group: Group, name: str, old: Effect, new: Effect) -> bool:
    """Whether a fact is no file's content, or that of a file which both states name."""
    setting, content, _ = name.partition(CONTENT)
    if not content or group == "checkpoint":
        return True
    before, after = old.facts.get((group, setting)), new.facts.get((group, setting))
    return before is not None and after is not None and before.key == after.key


def _one_sided(group: Group, name: str, effect: Effect) -> bool:
    """Whether a fact is a detail of a checkpoint that ``effect`` does not have, or that could not be read.

    That there is none says all.
    """
    role, _, detail = name.partition(" ")
    if group not in ("checkpoint", "memory") or not detail:
        return False
    facts = effect.context.target if role == "target" else effect.context.draft
    of_weights = detail in ("tensors", "weights", "d2t", "t2d") or detail.startswith("tensor ")
    lacking = is_served(detail) and (group, name) not in effect.facts
    if facts is not None and (of_weights or lacking) and weights_not_in_git(facts):
        return True
    return facts is None or facts.config is None or (role == "draft" and not effect.context.speculates)


def _unset(effect: Effect, group: Group, name: str) -> Fact | None:
    """What stands for a fact that a side does not have.

    Of a setting that nobody gives, what runs; of the wiring, that it is not known.
    """
    resolution = effect.context.resolution
    if CONTENT in name:
        return None
    if group == "setting" and resolution is not None:
        if "." in name and _unknown(effect):  # worked out from a config.json, and no flag
            return Fact(group, name, None, None, "not known")
        setting = resolution.get(name)
        if setting.origin == "unknown" and setting.asked is None:  # a flag of the other side's version
            setting = record_replace(setting, origin="default")
        return setting_fact(setting)
    if group in ("capture", "draft") and effect.context.speculates and name != "trained boundaries":
        return Fact(group, name, None, None, "not known")
    if group == "messages" and effect.context.model.parallel.tp_size > 1 and _unknown(effect):
        return Fact(group, name, None, None, "not known")
    return None


def _unknown(effect: Effect) -> bool:
    """Whether sizes cannot be worked out: a config.json, or the engine, is not known."""
    context = effect.context
    sides = [context.target, context.draft] if context.speculates else [context.target]
    return context.engine is None or any(each is None or each.config is None for each in sides)


def _without(
    words: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    """Options of one command that the other has not, with these values."""
    left = Counter(others)
    for option in words:
        if left[option]:
            left[option] -= 1
        else:
            yield option


def _study(sides: tuple[Side, Side], old: Document | None, new: Document | None) -> Iterator[Change]:
    before: Facts = study_facts(old) if old is not None else {}
    after: Facts = study_facts(new) if new is not None else {}
    if not before or not after or old is None or new is None:
        return
    before, after = {**before, **prompts_fact(sides[0], old)}, {**after, **prompts_fact(sides[1], new)}
    for key in sorted(dict.fromkeys([*before, *after])):
        one, two = before.get(key), after.get(key)
        if (one and one.key) != (two and two.key):
            yield Change("study", key[1], one, two)


def _other_defaults(old: Mapping[str, Effect], new: Mapping[str, Effect]) -> Iterator[Change]:
    """Defaults that another engine version changes, of flags that no deployment gives: said once a file."""
    before = next((effect.context.engine for effect in old.values()), None)
    after = next((effect.context.engine for effect in new.values()), None)
    if before is None or after is None or before.facts_of == after.facts_of:
        return
    settled = {
        name
        for side in (old, new)
        for effect in side.values()
        for group, name in effect.facts
        if group == "setting"
    }
    for name in sorted((set(before.flags) & set(after.flags)) - settled - MODEL_FLAGS):
        one, two = before.flags[name], after.flags[name]
        # Off is spelled false, null or an empty list: from one to the other nothing changes.
        if (
            one.default != two.default
            and one.default
            and two.default
            and UNREADABLE not in (one.default, two.default)
        ):
            yield Change(
                "setting",
                name,
                _default(name, one.default, one.source),
                _default(name, two.default, two.source),
            )


def _default(name: str, value: Any, source: str) -> Fact:
    return Fact("setting", name, value, value, f"{plain(value)} (default)", source)
