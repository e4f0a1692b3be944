"""What a study came to: every setting against both baselines, the tie set, and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eaglecfg.tune.account import Account, account_of, launch_rows
from eaglecfg.tune.arm import Arm, spelled
from eaglecfg.tune.conclusion import AS_IT_STANDS, SPECULATION_OFF, conclude
from eaglecfg.tune.cycle import Cycle, find_cycles
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import ROUND, History, Launch
from eaglecfg.tune.proof_words import proof_words
from eaglecfg.tune.ranking import (
    arm_of,
    complete_rounds,
    finalists,
    launchable,
    spread_of,
    usable,
)
from eaglecfg.tune.statistics import MARGIN, Analysis, compare, mean, resolvable
from eaglecfg.tune.step_cost import rests_on_acceptance, title


@dataclass(frozen=True, slots=True)
class Gain:
    """One setting against a baseline, as factors. ``low`` and ``high`` are None where there is one launch
    only."""

    ratio: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One setting. Speeds are geometric means over launches, by concurrency; ``accept_length`` and
    ``step_ms`` pool the counters of all launches. ``launches`` count good ones. ``spread`` is the standard
    deviation of one launch as a share. ``final`` tells whether the numbers come from the rounds, or from the
    search alone. ``latency_ms`` holds percentiles (``ttft_p99``), ``per_position[i]`` is the share of verify
    steps that accepted more than i drafts: means over launches, by concurrency."""

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


@dataclass(frozen=True, slots=True)
class Results:
    """Everything the final table and the files are made of. ``winner`` is None where nothing beats the
    baseline.

    ``verdict`` are sentences, the first of which answers the question. ``spread`` is one launch's standard
    deviation as a share, ``seen`` whether it was measured here; ``resolves`` is the gain this study could
    show. ``wander`` is the median over launches of how far passes over the same prompts differed within one,
    as a share. ``rounds`` counts complete ones. ``unsettled`` counts launches whose warm-up never agreed with
    itself. ``lost`` is the failure that leaves the baseline unmeasured: nothing wins then, as nothing was
    compared with it. ``baseline`` names it; ``stands``: it is the deployment as it stands. ``account`` is
    where the time went, ``each`` a row per launch (``account.HEADER``). ``moves`` are the factors by which
    the machine's speed moved during the search. ``held_back`` tells by reason in how many good launches
    clocks were held back, and in which share of a launch at most.
    ``cycles`` tell what a cycle is made of, where several step counts show it.
    ``proofs`` are what launches with NCCL's log on said, as the ledger has it. ``step_cost`` is
    the accept length that was simulated, None where acceptance is real; ``barred`` are
    settings that are faster then, and cannot win, as only real acceptance could recommend them.
    """

    rows: tuple[Row, ...]
    failures: tuple[Launch, ...]
    analysis: Analysis | None
    winner: Arm | None
    verdict: tuple[str, ...]
    spread: float
    seen: bool
    resolves: float
    finished: str
    launches: int
    rounds: int = 0
    wander: float | None = None
    unsettled: int = 0
    lost: Launch | None = None
    cycles: tuple[Cycle, ...] = ()
    proofs: tuple[Mapping[str, Any], ...] = ()
    account: Account | None = None
    each: tuple[tuple[str, ...], ...] = ()
    step_cost: float | None = None
    barred: tuple[Arm, ...] = ()
    moves: tuple[float, ...] = ()
    held_back: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    baseline: str = AS_IT_STANDS
    stands: bool = True


def make_results(design: Design, history: History, finished: str) -> Results:
    """Reduce a history. ``finished`` says why the study ended, empty while it runs."""
    rounds = complete_rounds(design, history)
    count = len(next(iter(rounds.values()), ()))
    enough = count >= 2 and len(rounds) >= 2
    keys = [ran_key(history, arm) for arm in (design.as_is, design.off) if arm is not None]
    in_rounds = [key for key in keys if key in rounds]
    analysis = compare(rounds, in_rounds[0]) if enough and in_rounds else None
    versus_off = compare(rounds, in_rounds[-1]) if enough and in_rounds else None
    lost = history.condemned().get(design.baseline.key) if design.baseline is not None else None
    winner = _winner(design, history, analysis, rounds) if lost is None else None
    spread, seen = spread_of(history)
    if analysis is not None and analysis.freedom > 0:
        spread, seen = analysis.spread, True
    arms = len(rounds) or design.final_arms
    rows = _rows(design, history, analysis, versus_off, winner)
    as_is = ran_key(history, design.as_is) if design.as_is is not None else None
    return Results(
        rows=rows,
        failures=tuple(item for item in history.launches if not item.ok and not item.forgiven),
        analysis=analysis,
        winner=winner,
        verdict=(
            *([title(design.step_cost)] if design.step_cost is not None else []),
            *conclude(
                as_is,
                rows,
                analysis,
                winner,
                finished,
                lost,
                refused="as it stands" in design.rejected,
                absent=design.stands is None,
                aside=history.aside,
                barred=tuple(_barred(design, history, analysis)),
                real=design.step_cost is None,
            ),
            *proof_words(history.proofs, winner.key if winner is not None else None),
        ),
        spread=spread,
        seen=seen,
        resolves=resolvable(spread, max(count, 1), arms) if arms > 1 else math.inf,
        finished=finished,
        launches=len(history.launches),
        rounds=count,
        wander=_median([item.wander for item in history.launches if item.wander is not None]),
        unsettled=sum(bool(item.unsettled) for item in history.launches),
        lost=lost,
        cycles=find_cycles(design, history),
        account=account_of(history),
        each=tuple(map(tuple, launch_rows(history))),
        moves=tuple(_steps(history.moves)),
        held_back=_held_back(history.launches),
        proofs=tuple(history.proofs.values()),
        step_cost=design.step_cost,
        barred=tuple(_barred(design, history, analysis).values()),
        baseline=AS_IT_STANDS if design.stands is not None else SPECULATION_OFF,
        stands=design.stands is not None,
    )


def _steps(moves: Mapping[int, float]) -> Iterator[float]:
    """Each move as a factor; ``moves`` holds their sums in logs."""
    before = 0.0
    for _, now in sorted(moves.items()):
        yield math.exp(now - before)
        before = now


def _held_back(launches: Sequence[Launch]) -> dict[str, tuple[int, float]]:
    found: dict[str, tuple[int, float]] = {}
    for item in launches:
        for reason, share in item.held_back.items() if item.ok else ():
            count, most = found.get(reason, (0, 0.0))
            found[reason] = count + 1, max(most, share)
    return found


def _median(values: Sequence[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None


def ran_key(history: History, arm: Arm) -> str:
    """The key of what the server makes of ``arm``."""
    return history.aliases().get(arm.key, arm.key)


def _winner(
    design: Design, history: History, analysis: Analysis | None, rounds: Mapping[str, Sequence[float]]
) -> Arm | None:
    """The simplest setting that is shown to be faster, is tied with the best and was measured within the
    margin of it: few launches tie much, and what is merely not shown to be slower is no reason to give speed
    away."""
    if analysis is None:
        return None
    barred = _barred(design, history, analysis)
    better = [
        item.arm
        for item in analysis.comparisons
        if item.better and item.arm not in barred and usable(history, item.arm)
    ]
    top = max((mean(rounds[arm]) for arm in better), default=0.0)
    near = [arm for arm in better if mean(rounds[arm]) >= top - math.log1p(MARGIN)]
    pool = [arm for arm in near if arm in analysis.ties] or near
    arms = [arm for key in pool if (arm := arm_of(design, history, key)) is not None]
    return min(arms, key=lambda arm: (simplicity(arm), -mean(rounds[arm.key])), default=None)


def _barred(design: Design, history: History, analysis: Analysis | None) -> dict[str, Arm]:
    """Settings that are faster here but cannot win: where only step cost was measured, those of another shape
    of speculation."""
    if design.step_cost is None or analysis is None:
        return {}
    arms = [arm_of(design, history, item.arm) for item in analysis.comparisons if item.better]
    return {arm.key: arm for arm in arms if arm is not None and rests_on_acceptance(arm)}


def simplicity(arm: Arm) -> tuple[int, int]:
    """Fewer changed keys first (the shape of speculation counts once), then fewer draft tokens."""
    changed = {path[:1] if path[0] == "speculative" else path for path in map(spelled, arm.changed)}
    return len(changed), arm.draft_tokens


def _rows(
    design: Design,
    history: History,
    analysis: Analysis | None,
    versus_off: Analysis | None,
    winner: Arm | None,
) -> tuple[Row, ...]:
    fixed = {arm.key: arm for arm in (*design.baselines, *design.arms)}
    launched = [key for item in history.launches for key in (item.arm, item.ran)]
    keys = list(dict.fromkeys([*fixed, *launched]))
    final = {ran_key(history, arm) for arm in finalists(design, history)}
    rows = [
        _row(design, history, key, final, analysis, versus_off, winner) for key in keys if key in launched
    ]
    return tuple(sorted(rows, key=lambda row: (not row.final, -_speed(row))))


def _speed(row: Row) -> float:
    values = list(row.tokens_per_s.values())
    return math.exp(mean([math.log(value) for value in values])) if values else 0.0


def _row(
    design: Design,
    history: History,
    key: str,
    final: set[str],
    analysis: Analysis | None,
    versus_off: Analysis | None,
    winner: Arm | None,
) -> Row:
    in_rounds = bool(history.of(key, ROUND)) and key in final
    good = history.of(key, ROUND) if in_rounds else history.of(key)
    arm = arm_of(design, history, key)
    label = arm.label if arm is not None else str(history.arms[key]["label"])
    levels = sorted({level for item in good for level in item.scores})
    scores = [item.score for item in good]
    same = [item.agreement for item in good if item.agreement is not None]
    phase = (ROUND,) if in_rounds else ()
    return Row(
        arm=key,
        label=label,
        role=_role(design, history, key),
        launches=len(history.of(key)),
        failed=sum(not item.ok and not item.forgiven for item in history.launches if item.arm == key),
        final=in_rounds,
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
        against_as_is=_gain(history, key, design.stands, analysis, phase),
        against_off=_gain(history, key, design.off, versus_off, phase),
        tied=analysis is not None and key in analysis.ties,
        fastest=analysis is not None and key == analysis.best,
        winner=winner is not None and key == winner.key,
        agreement=mean(same) if same else None,
        startup_s=mean([item.startup_s for item in good]) if good else None,
        latency_ms=_latency(good),
        per_position=_positions(good),
        notes=(*_notes(history, key), *_left_out(design, history, key)),
    )


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


def _gain(
    history: History, key: str, baseline: Arm | None, analysis: Analysis | None, phases: tuple[str, ...]
) -> Gain | None:
    other_key = ran_key(history, baseline) if baseline is not None else key
    if other_key == key:
        return None
    if analysis is not None and analysis.baseline == other_key:
        for item in analysis.comparisons:
            if item.arm == key:
                return Gain(item.ratio, item.low, item.high, item.p_holm)
    own, other = history.of(key, *phases), history.of(other_key, *phases)
    if not own or not other:
        return None
    return Gain(math.exp(mean([i.score for i in own]) - mean([i.score for i in other])), None, None, None)


def _left_out(design: Design, history: History, key: str) -> tuple[str, ...]:
    """That the space was edited since a setting was asked for."""
    asked = any(item.arm == key for item in history.launches)
    if not asked or launchable(design, history, key) is not None:
        return ()
    return ("the space does not have it any more: it is neither launched again nor compared",)


def _notes(history: History, key: str) -> tuple[str, ...]:
    notes = []
    for item in history.launches:
        if item.arm == key and item.ran != key:
            changes = ", ".join(f"{flag} {asked} -> {ran}" for flag, (asked, ran) in item.rewritten.items())
            notes.append(f"the server rewrites it: {changes}")
        if item.arm == key and not item.ok and not item.forgiven:
            notes.append(f"{item.failure}: {item.message}")
        if item.ran == key:
            notes += [f"over the limit: {limit}" for limit in item.limits]
            notes += [
                f"its last blocks at concurrency {level} were left out in the search: it was far behind the "
                f"baseline on the same prompts"
                for level in item.curtailed
            ]
    return tuple(dict.fromkeys(notes))
