"""What a study will launch: which arms, in which mode, how many rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from eaglecfg.errors import UsageError
from eaglecfg.schema.study import StudyFile
from eaglecfg.tune.arm import OFF, Arm
from eaglecfg.tune.profiles import ANCHOR_EVERY, PROFILES, Profile
from eaglecfg.tune.space import Space

MOST_ENUMERATED = 400
"""Arms that are listed and validated one by one before the start; a larger space is only sampled."""

Verdict = Callable[[Arm], tuple[str, ...]]
"""The validator: the error findings of an arm, each one line; empty when it may be launched."""


@dataclass(frozen=True, slots=True)
class Design:
    """The plan of a study.

    ``mode``: ``rounds`` launches every arm in every round, so nothing has to be selected; ``screen`` launches
    every arm once and takes the best into the rounds; ``search`` lets a sampler choose. ``as_is`` is the
    deployment as it stands, ``off`` the same without speculation (None where it is not feasible or not
    wanted, or where it is the same arm). ``arms`` are the feasible arms, empty where there are too many.
    ``rejected`` maps a label to the findings against it. ``launches`` is the cap, None for none.
    ``step_cost``: the accept length that is simulated, None where acceptance is real.
    """

    space: Space
    profile: Profile
    mode: Literal["rounds", "screen", "search"]
    as_is: Arm | None
    off: Arm | None
    arms: tuple[Arm, ...]
    rejected: Mapping[str, tuple[str, ...]]
    rounds: int
    launches: int | None
    seed: int
    verdict: Verdict
    step_cost: float | None = None

    @property
    def baselines(self) -> tuple[Arm, ...]:
        """Both baselines, speculation off first."""
        return tuple(arm for arm in (self.off, self.as_is) if arm is not None)

    @property
    def baseline(self) -> Arm | None:
        """What a gain is counted against: the deployment as it stands, else speculation off."""
        return self.as_is or self.off

    @property
    def stands(self) -> Arm | None:
        """The baseline that is the deployment as it stands: speculation off, where that is what stands; None
        where it is no baseline."""
        return (
            self.off if self.as_is is None and self.off is not None and not self.off.changed else self.as_is
        )

    @property
    def final_arms(self) -> int:
        """Arms in each round: a short search finds fewer finalists than the profile takes."""
        if self.mode == "rounds":
            return len(self.arms)
        looked_at = len(self.arms) if self.mode == "screen" else self.search_launches
        found = max(looked_at - len(self.baselines), 0)
        return len(self.baselines) + min(self.profile.finalists, found)

    @property
    def kept_rounds(self) -> int:
        """Rounds that the search leaves launches for. What time is left after it pays for more."""
        return min(self.rounds, self.profile.rounds)

    @property
    def replicates(self) -> int:
        """Launches of leaders again, in mode screen."""
        return round(self.profile.replicates * len(self.arms))

    @property
    def search_launches(self) -> int:
        """Launches before the rounds: 0 in mode rounds."""
        if self.mode == "rounds":
            return 0
        if self.mode == "screen":
            return _once(self.profile, len(self.arms))
        cap = self.launches or self.profile.launches
        most = len(self.baselines) + self.profile.finalists
        return max(cap - most * self.kept_rounds, len(self.baselines) + 1)

    @property
    def total(self) -> int:
        """Launches planned, failures and retries not counted."""
        return self.search_launches + self.final_arms * self.rounds


def make_design(study: StudyFile, space: Space, verdict: Verdict) -> Design:
    """Decide mode and rounds. In ``arms`` the baselines go first, then the space in its file's order.

    Raises UsageError where every setting is to be launched and there are too many.
    """
    if study.budget.launches_each is not None and space.size > MOST_ENUMERATED:
        raise UsageError(
            f"budget.launches_each: expected a space of up to {MOST_ENUMERATED} combinations, got "
            f"{space.size}; leave it out, and a sampler chooses among them."
        )
    profile = PROFILES[study.profile]
    as_is_arm, off_arm = space.arm({}), space.arm({"speculative": OFF})
    rejected: dict[str, tuple[str, ...]] = {}
    feasible: dict[str, Arm] = {}

    def judge(arm: Arm, name: str) -> bool:
        findings = verdict(arm)
        if findings:
            rejected[name] = findings
        else:
            feasible[arm.key] = arm
        return not findings

    listed = tuple(space.arms()) if space.size <= MOST_ENUMERATED else ()
    known = {arm.key for arm in listed}
    wants_off = "off" in study.baselines or off_arm.key in known
    wants_as_is = ("as_it_stands" in study.baselines or as_is_arm.key in known) and not (
        wants_off and off_arm.key == as_is_arm.key
    )
    off = off_arm if wants_off and judge(off_arm, "speculation off") else None
    as_is = as_is_arm if wants_as_is and judge(as_is_arm, "as it stands") else None
    for arm in listed:
        if arm.key not in feasible and arm.key not in (off_arm.key, as_is_arm.key):
            judge(arm, arm.label)
    arms = _named_by_space(tuple(feasible.values()), space)
    as_is, off = (next((arm for arm in arms if each and arm.key == each.key), each) for each in (as_is, off))
    launches = study.budget.launches
    baselines = sum(arm is not None for arm in (as_is, off))
    times = study.budget.launches_each
    mode = "rounds" if times is not None else _mode(space, profile, len(arms), baselines, launches)
    in_round = len(arms) if mode == "rounds" else profile.finalists + baselines
    return Design(
        space,
        profile,
        mode,
        as_is,
        off,
        arms if listed else (),
        rejected,
        times if times is not None else _rounds(study, profile, mode, in_round, len(arms)),
        launches,
        study.seed,
        verdict,
        study.step_cost.accept_length if study.step_cost is not None else None,
    )


def _named_by_space(arms: tuple[Arm, ...], space: Space) -> tuple[Arm, ...]:
    """Baselines take the values of the space's own arm where they are in it, so that a sampler knows them."""
    if space.size > MOST_ENUMERATED:
        return arms
    own = {arm.key: arm for arm in space.arms()}
    return tuple(own.get(arm.key, arm) for arm in arms)


def _mode(
    space: Space, profile: Profile, arms: int, baselines: int, launches: int | None
) -> Literal["rounds", "screen", "search"]:
    if space.size > MOST_ENUMERATED:
        return "search"
    cap = launches or profile.launches
    finals = (profile.finalists + baselines) * profile.rounds
    once = _once(profile, arms)
    if arms * profile.rounds <= arms + finals:
        return "rounds"
    if launches and arms * 2 <= launches < arms + (profile.finalists + baselines) * 2:
        return "rounds"
    return "screen" if once + finals <= cap else "search"


def _once(profile: Profile, arms: int) -> int:
    """Launches that look at every arm once, anchors and replicates included."""
    return arms + max(arms - 1, 0) // (ANCHOR_EVERY - 1) + round(profile.replicates * arms)


def _rounds(study: StudyFile, profile: Profile, mode: str, in_round: int, arms: int) -> int:
    """Rounds: the profile's, more where the budget pays for them, fewer where it does not, at least two."""
    budget = study.budget
    if not in_round:
        return 0
    if budget.launches is None:
        return profile.rounds if budget.hours is None and budget.until is None else profile.most_rounds
    if mode == "search":
        return max(2, min(profile.rounds, budget.launches // (2 * in_round)))
    left = budget.launches - (_once(profile, arms) if mode == "screen" else 0)
    return max(2, min(profile.most_rounds, left // in_round))
