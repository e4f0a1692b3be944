"""One row of a result per setting: its numbers, and what it is against both baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from eaglecfg.tune.arm import Arm
from eaglecfg.tune.design import Design
from eaglecfg.tune.gains import Gain, gain_of
from eaglecfg.tune.history import ROUND, History, Launch
from eaglecfg.tune.limits import OverLimit, over_limits
from eaglecfg.tune.ranking import arm_of, finalists, launchable, ran_key
from eaglecfg.tune.rewrites import Pair, own_rewrites, pairs_of, rewrite_words
from eaglecfg.tune.statistics import Analysis, mean


@dataclass(frozen=True, slots=True)
class Row:
    """One setting. Speeds are geometric means over launches, by concurrency; ``accept_length`` and
    ``step_ms`` pool the counters of all launches. ``launches`` count good ones. ``spread`` is the standard
    deviation of one launch as a share. ``final`` tells whether the numbers come from the rounds that are
    compared. ``latency_ms`` holds percentiles (``ttft_p99``), ``per_position[i]`` is the share of verify
    steps that accepted more than i drafts: means over launches, by concurrency. ``searched``: the numbers
    come from the search. ``left_out``: the space does not have the setting any more. ``limits`` are those of
    the objective that it broke, in ``over`` of its launches. ``rewritten`` is what the server made of it by
    itself, apart from what it makes of every setting.
    """

    arm: str
    label: str
    role: str
    launches: int
    failed: int
    final: bool
    tokens_per_s: Mapping[int, float]
    accept_length: float | None
    step_ms: Mapping[int, float]
    spread: float | None
    against_as_is: Gain | None
    against_off: Gain | None
    tied: bool
    fastest: bool
    winner: bool
    agreement: float | None
    startup_s: float | None
    notes: tuple[str, ...]
    latency_ms: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    per_position: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    searched: bool = False
    left_out: bool = False
    limits: tuple[OverLimit, ...] = ()
    over: int = 0
    rewritten: tuple[str, ...] = ()

    @property
    def over_limit(self) -> bool:
        """Whether it broke a limit in most of its launches, so that it cannot win."""
        return self.over * 2 > self.launches

    @property
    def limit_words(self) -> str:
        """The limits that it broke, in words."""
        return "; ".join(item.words for item in self.limits)


@dataclass(frozen=True, slots=True)
class Compared:
    """What the rounds came to: against each baseline, by launches, and who won. ``shared`` are rewrites that
    every setting shares."""

    versus_as_is: Analysis | None
    versus_off: Analysis | None
    launches: Mapping[str, Sequence[Launch]]
    winner: Arm | None
    shared: Sequence[Pair] = ()


def make_rows(design: Design, history: History, compared: Compared) -> tuple[Row, ...]:
    """A row for every setting that was launched or ran, those of the rounds first, best first."""
    fixed = {arm.key: arm for arm in (*design.baselines, *design.arms)}
    launched = [key for item in history.launches for key in (item.arm, item.ran)]
    keys = list(dict.fromkeys([*fixed, *launched]))
    final = {ran_key(history, arm) for arm in finalists(design, history)}
    rows = [_row(design, history, key, compared, final) for key in keys if key in launched]
    return tuple(sorted(rows, key=lambda row: (not row.final, -_standing(row), -_speed(row))))


def _standing(row: Row) -> float:
    """What rows of the search are ordered by: their speeds may be of different hours."""
    if row.final:
        return 0.0
    gain = row.against_as_is or row.against_off
    return gain.ratio if gain is not None else 1.0 if row.role else 0.0


def _speed(row: Row) -> float:
    values = list(row.tokens_per_s.values())
    return math.exp(mean([math.log(value) for value in values])) if values else 0.0


def _row(design: Design, history: History, key: str, compared: Compared, final: set[str]) -> Row:
    # The search has prompts and hours of its own: its launches are not averaged with those of rounds.
    good = history.of(key, ROUND) or history.of(key)
    analysis, winner, arm = compared.versus_as_is, compared.winner, arm_of(design, history, key)
    levels = sorted({level for item in good for level in item.scores})
    scores = [item.score for item in good]
    same = [item.agreement for item in good if item.agreement is not None]

    def against(base: Arm | None, versus: Analysis | None) -> Gain | None:
        other = ran_key(history, base) if base is not None else key
        return gain_of(history, key, other, good, versus, compared.launches)

    row = Row(
        arm=key,
        label=arm.label if arm is not None else str(history.arms[key]["label"]),
        role=_role(design, history, key),
        launches=len(history.of(key)),
        failed=sum(not item.ok and not item.forgiven for item in history.launches if item.arm == key),
        final=bool(history.of(key, ROUND)) and key in final,
        tokens_per_s={level: math.exp(mean([item.scores[level] for item in good])) for level in levels},
        accept_length=_pooled([item.counters[level] for item in good for level in levels], 0, 1),
        step_ms={
            level: ms
            for level in levels
            if (ms := _pooled([item.counters[level] for item in good], 2, 3)) is not None
        },
        spread=math.sqrt(sum((s - mean(scores)) ** 2 for s in scores) / (len(scores) - 1))
        if len(scores) > 1
        else None,
        against_as_is=against(design.stands, analysis),
        against_off=against(design.off, compared.versus_off),
        tied=analysis is not None and key in analysis.ties,
        fastest=analysis is not None and key == analysis.best,
        winner=winner is not None and key == winner.key,
        agreement=mean(same) if same else None,
        startup_s=mean([item.startup_s for item in good]) if good else None,
        notes=(),
        latency_ms=_latency(good),
        per_position=_positions(good),
        searched=any(item.phase != ROUND for item in good),
        left_out=_left_out(design, history, key),
        limits=over_limits(history.of(key)),
        over=sum(bool(item.limits) for item in history.of(key)),
        rewritten=tuple(own_rewrites(design.space, good, key, compared.shared)),
    )
    return replace(row, notes=_notes(history, row))


def _latency(launches: Sequence[Launch]) -> dict[int, dict[str, float]]:
    out: dict[int, dict[str, float]] = {}
    for level in sorted({level for item in launches for level in item.latency}):
        rows = [item.latency[level] for item in launches if level in item.latency]
        known = [name for name in rows[0] if all(name in row for row in rows)]
        out[level] = {name: round(mean([row[name] for row in rows]), 4) for name in known}
    return out


def _positions(launches: Sequence[Launch]) -> dict[int, tuple[float, ...]]:
    out: dict[int, tuple[float, ...]] = {}
    for level in sorted({level for item in launches for level in item.positions}):
        rows = [item.positions[level] for item in launches if level in item.positions]
        out[level] = tuple(round(mean(shares), 6) for shares in zip(*rows, strict=False))
    return out


def _role(design: Design, history: History, key: str) -> str:
    roles = []
    if design.as_is is not None and key in (design.as_is.key, ran_key(history, design.as_is)):
        roles.append("as it stands")
    if design.off is not None and key == design.off.key:
        roles.append("as it stands, off" if design.stands is design.off else "off")
    return ", ".join(roles)


def _pooled(counters: Sequence[Sequence[float]], top: int, bottom: int) -> float | None:
    """Sum over sum; None where nothing was counted."""
    below = sum(row[bottom] for row in counters)
    return sum(row[top] for row in counters) / below if below else None


def _left_out(design: Design, history: History, key: str) -> bool:
    """Whether the space was edited since a setting was asked for, so that it does not have it any more."""
    asked = any(item.arm == key for item in history.launches)
    return asked and launchable(design, history, key) is None


def _notes(history: History, row: Row) -> tuple[str, ...]:
    notes = []
    for item in history.launches:
        if item.arm == row.arm and item.ran != row.arm:
            notes.append(f"the server rewrites it: {', '.join(map(rewrite_words, pairs_of(item)))}")
        if item.arm == row.arm and not item.ok and not item.forgiven:
            notes.append(f"{item.failure}: {item.message}")
        if item.ran == row.arm:
            notes += [
                f"its last blocks at concurrency {level} were left out in the search: it was far behind the "
                f"baseline on the same prompts"
                for level in item.curtailed
            ]
    notes += [f"the server rewrites it: {words}" for words in row.rewritten]
    notes += [f"over the limit: {item.words}" for item in row.limits]
    if row.left_out:
        notes.append("the space does not have it any more: it is neither launched again nor compared")
    return tuple(dict.fromkeys(notes))
