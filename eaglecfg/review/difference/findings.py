"""Findings of two states against each other: which are new, gone, accepted, or say something else now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from eaglecfg.record import replace
from eaglecfg.rules.fingerprint import fingerprints
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Reported, Suppressed
from eaglecfg.source.span import KeyPath

_RANK = (Severity.INFO, Severity.WARNING, Severity.ERROR)


@dataclass(frozen=True, slots=True)
class FindingChanges:
    """``accepted`` are findings that the later state suppresses, and the earlier one does not.

    ``changed`` are pairs of one rule at one place: there before, and now with other values or another
    severity. ``undecided`` are gone because the later state leaves their rule undecided: that is not to say
    that they are fixed. ``unsure`` are there now, and the earlier state, of which something could not be
    read, leaves their rule undecided: that is not to say that they are new.
    """

    introduced: tuple[Reported, ...] = ()
    fixed: tuple[Reported, ...] = ()
    changed: tuple[tuple[Reported, Reported], ...] = ()
    accepted: tuple[Suppressed, ...] = ()
    undecided: tuple[Reported, ...] = ()
    unsure: tuple[Reported, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether both states have the same findings."""
        kinds = self.introduced, self.fixed, self.changed, self.accepted, self.undecided, self.unsure
        return not any(kinds)

    def unsure_at(self, fail_on: Severity) -> tuple[Reported, ...]:
        """Findings at or above ``fail_on`` of which nobody knows whether they were there before."""
        return tuple(one for one in self.unsure if _RANK.index(one.severity) >= _RANK.index(fail_on))

    def new_at(self, fail_on: Severity) -> tuple[Reported, ...]:
        """Findings at or above ``fail_on`` that were not there before, or were less severe."""
        least = _RANK.index(fail_on)
        graver = [new for old, new in self.changed if _RANK.index(old.severity) < least]
        return tuple(one for one in (*self.introduced, *graver) if _RANK.index(one.severity) >= least)


NO_CHANGES = FindingChanges()


def joined(every: Sequence[FindingChanges]) -> FindingChanges:
    """Those of several files, each kind with the most severe first."""

    def rank(one: Reported) -> int:
        return -_RANK.index(one.severity)

    return FindingChanges(
        tuple(sorted((one for each in every for one in each.introduced), key=rank)),
        tuple(sorted((one for each in every for one in each.fixed), key=rank)),
        tuple(sorted((pair for each in every for pair in each.changed), key=lambda pair: rank(pair[1]))),
        tuple(sorted((one for each in every for one in each.accepted), key=lambda one: rank(one.found))),
        tuple(sorted((one for each in every for one in each.undecided), key=rank)),
        tuple(sorted((one for each in every for one in each.unsure), key=rank)),
    )


def _never(found: Reported) -> bool:
    return False


def compare_findings(
    old: Sequence[Reported],
    new: Sequence[Reported],
    *,
    excused: tuple[Sequence[Suppressed], Sequence[Suppressed]] = ((), ()),
    renamed: Mapping[str, str] | None = None,
    undecided: Callable[[Reported], bool] = _never,
    unsure: Callable[[Reported], bool] = _never,
    unread: Collection[str] = (),
) -> FindingChanges:
    """What became of the findings of one file.

    ``excused`` are those that either state suppresses, ``renamed`` tells the new names of deployments.
    ``undecided`` tells of a finding that is gone whether the later state leaves it open, ``unsure`` of one
    that was not there whether the earlier state could not be read where it would have been. ``unread`` are
    messages about what could not be read before either: they are not new.
    """
    names = renamed or {}
    before, after = _named(old, names), _named(new, {})
    fixed = [one for name, one in before.items() if name not in after]
    introduced = [one for name, one in after.items() if name not in before]
    introduced = [one for one in introduced if not (one.finding.incomplete and one.finding.message in unread)]
    changed: list[tuple[Reported, Reported]] = []
    for gone in list(fixed):
        twin = _twin(gone, introduced, names)
        if twin is None:
            continue
        if _spot(twin, {}) == _spot(gone, names) or twin.severity is not gone.severity:
            changed.append((gone, twin))
        fixed.remove(gone)
        introduced.remove(twin)
    accepted = list(_accepted(*excused, names))
    spots = {_spot(each.found, {}) for each in excused[1]}
    fixed = [one for one in fixed if _spot(one, names) not in spots]
    left_open = [one for one in fixed if undecided(one)]
    fixed = [one for one in fixed if one not in left_open]
    doubtful = [one for one in introduced if unsure(one)]
    introduced = [one for one in introduced if one not in doubtful]
    return FindingChanges(
        tuple(introduced), tuple(fixed), tuple(changed), tuple(accepted), tuple(left_open), tuple(doubtful)
    )


def _twin(gone: Reported, introduced: Sequence[Reported], renamed: Mapping[str, str]) -> Reported | None:
    """The finding that ``gone`` has become: that of its rule at its place, else one that says the same of a
    value that has moved to another key."""
    spot, name = _spot(gone, renamed), renamed.get(gone.deployment or "", gone.deployment)
    for one in introduced:
        if _spot(one, {}) == spot:
            return one
    for one in introduced:
        same = one.rule.id == gone.rule.id and one.deployment == name
        if same and (one.finding.message == gone.finding.message or _says(one) == _says(gone) != {}):
            return one
    return None


def _says(found: Reported) -> dict[str, str]:
    return {name: str(value) for name, value in found.finding.values.items()}


def _accepted(
    old: Sequence[Suppressed], new: Sequence[Suppressed], renamed: Mapping[str, str]
) -> list[Suppressed]:
    """Those of ``new`` that ``old`` does not hold: what was accepted before is no news."""
    before = set(_named([each.found for each in old], renamed))
    names = _named([each.found for each in new], {})
    return [each for each, name in zip(new, names, strict=True) if name not in before]


def _named(findings: Sequence[Reported], renamed: Mapping[str, str]) -> dict[str, Reported]:
    """Findings by what makes them the same one, wherever in the file their value stands."""
    moved = [_moved(one, renamed) for one in findings]
    return dict(zip(fingerprints(moved), findings, strict=True))


def _moved(found: Reported, renamed: Mapping[str, str]) -> Reported:
    """``found`` as if its value stood in the deployment itself and the deployment had its new name."""
    name = renamed.get(found.deployment or "", found.deployment)
    finding = replace(found.finding, path=inside(found))
    return replace(found, deployment=name, finding=finding)


def inside(found: Reported) -> KeyPath:
    """The path of a finding inside its deployment: what moves to ``defaults`` means what it meant."""
    path = found.finding.path
    if found.deployment is None:
        return path
    if path[:2] == ("deployments", found.deployment):
        return ("deployment", *path[2:])
    return ("deployment", *path[1:]) if path[:1] == ("defaults",) else path


def _spot(found: Reported, renamed: Mapping[str, str]) -> tuple[object, ...]:
    return found.rule.id, renamed.get(found.deployment or "", found.deployment), inside(found)
