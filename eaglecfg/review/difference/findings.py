"""Findings of two states against each other: which are new, gone, accepted, or say something else now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eaglecfg.record import replace
from eaglecfg.rules.fingerprint import fingerprints
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Reported, Suppressed
from eaglecfg.source.span import KeyPath

_RANK = (Severity.INFO, Severity.WARNING, Severity.ERROR)


@dataclass(frozen=True, slots=True)
class FindingChanges:
    """``accepted`` are findings that the later state suppresses. ``changed`` are pairs of one rule at one
    place: there before, and now with other values or another severity."""

    introduced: tuple[Reported, ...] = ()
    fixed: tuple[Reported, ...] = ()
    changed: tuple[tuple[Reported, Reported], ...] = ()
    accepted: tuple[Suppressed, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether both states have the same findings."""
        return not (self.introduced or self.fixed or self.changed or self.accepted)

    def new_at(self, fail_on: Severity) -> tuple[Reported, ...]:
        """Findings at or above ``fail_on`` that were not there before, or were less severe."""
        least = _RANK.index(fail_on)
        graver = [new for old, new in self.changed if _RANK.index(old.severity) < least]
        return tuple(one for one in (*self.introduced, *graver) if _RANK.index(one.severity) >= least)


NO_CHANGES = FindingChanges()


def compare_findings(
    old: Sequence[Reported],
    new: Sequence[Reported],
    accepted: Sequence[Suppressed] = (),
    renamed: Mapping[str, str] | None = None,
) -> FindingChanges:
    """What became of the findings of one file.

    ``accepted`` are those that the later state suppresses, ``renamed`` tells the new names of deployments.
    """
    before = _named(old, renamed or {})
    after = _named(new, {})
    fixed = [one for name, one in before.items() if name not in after]
    introduced = [one for name, one in after.items() if name not in before]
    changed: list[tuple[Reported, Reported]] = []
    for gone in list(fixed):
        spot = _spot(gone, renamed or {})
        twin = next((one for one in introduced if _spot(one, {}) == spot), None)
        if twin is not None:
            changed.append((gone, twin))
            fixed.remove(gone)
            introduced.remove(twin)
    excused = []
    for gone in list(fixed):
        spot = _spot(gone, renamed or {})
        found = next((each for each in accepted if _spot(each.found, {}) == spot), None)
        if found is not None:
            excused.append(found)
            fixed.remove(gone)
    return FindingChanges(tuple(introduced), tuple(fixed), tuple(changed), tuple(excused))


def _named(findings: Sequence[Reported], renamed: Mapping[str, str]) -> dict[str, Reported]:
    """Findings by what makes them the same one, wherever in the file their value stands."""
    moved = [_moved(one, renamed) for one in findings]
    return dict(zip(fingerprints(moved), findings, strict=True))


def _moved(found: Reported, renamed: Mapping[str, str]) -> Reported:
    """``found`` as if its value stood in the deployment itself and the deployment had its new name."""
    name = renamed.get(found.deployment or "", found.deployment)
    finding = replace(found.finding, path=_inside(found))
    return replace(found, deployment=name, finding=finding)


def _inside(found: Reported) -> KeyPath:
    """The path of a finding inside its deployment: what moves to ``defaults`` means what it meant."""
    path = found.finding.path
    if found.deployment is None:
        return path
    if path[:2] == ("deployments", found.deployment):
        return ("deployment", *path[2:])
    return ("deployment", *path[1:]) if path[:1] == ("defaults",) else path


def _spot(found: Reported, renamed: Mapping[str, str]) -> tuple[object, ...]:
    return found.rule.id, renamed.get(found.deployment or "", found.deployment), _inside(found)
