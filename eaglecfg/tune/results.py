"""What a study came to: every setting against both baselines, the tie set, and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eaglecfg.tune.account import Account, account_of, launch_rows
from eaglecfg.tune.answer_words import agreement_words, doubt_words
from eaglecfg.tune.arm import Arm, spelled
from eaglecfg.tune.conclusion import AS_IT_STANDS, SPECULATION_OFF, conclude
from eaglecfg.tune.cycle import Cycle, find_cycles
from eaglecfg.tune.design import Design
from eaglecfg.tune.history import ROUND, History, Launch
from eaglecfg.tune.proof_words import proof_words
from eaglecfg.tune.ranking import arm_of, compared_launches, open_rounds, ran_key, spread_of, usable
from eaglecfg.tune.rewrites import Pair, shared_rewrites, verdict_words
from eaglecfg.tune.rows import Compared, Row, make_rows
from eaglecfg.tune.statistics import MARGIN, Analysis, compare, mean, resolvable
from eaglecfg.tune.step_cost import rests_on_acceptance, title
from eaglecfg.tune.unlaunched import Unlaunched, find_unlaunched, unlaunched_words


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
    settings that are faster then, and cannot win, as only real acceptance could recommend them. ``answers``
    are sentences on greedy answers that agree less with the baseline's than those of baselines do.
    ``unlaunched`` is what of the space was never launched, ``shared`` what the server makes of every setting
    by itself, ``search_speeds`` what the baseline came to in the search, by concurrency: one for each stretch
    between two moves of the machine's speed. ``open_rounds`` counts launches by the number of a round (from
    0) that is begun and not complete: they are not compared. ``set_aside`` launches were made while the
    machine's speed moved, ``looked_again`` ones of the baseline looked whether it had.
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
    unlaunched: Unlaunched | None = None
    shared: tuple[Pair, ...] = ()
    search_speeds: tuple[Mapping[int, float], ...] = ()
    open_rounds: Mapping[int, int] = field(default_factory=dict)
    set_aside: int = 0
    looked_again: int = 0
    answers: tuple[str, ...] = ()


def make_results(design: Design, history: History, finished: str) -> Results:
    """Reduce a history. ``finished`` says why the study ended, empty while it runs."""
    launches = compared_launches(design, history)
    rounds = {key: [item.score for item in row] for key, row in launches.items()}
    count = len(next(iter(rounds.values()), ()))
    enough = count >= 2 and len(rounds) >= 2
    keys = [ran_key(history, arm) for arm in (design.as_is, design.off) if arm is not None]
    in_rounds = [key for key in keys if key in rounds]
    analysis = compare(rounds, in_rounds[0]) if enough and in_rounds else None
    versus_off = compare(rounds, in_rounds[-1]) if enough and in_rounds else None
    lost = _lost(design, history)
    winner = _winner(design, history, analysis, rounds) if lost is None else None
    spread, seen = spread_of(history)
    if analysis is not None and analysis.freedom > 0:
        spread, seen = analysis.spread, True
    arms = len(rounds) or design.final_arms
    shared = shared_rewrites(history)
    rows = make_rows(design, history, Compared(analysis, versus_off, launches, winner, shared))
    unlaunched = find_unlaunched(design, history, finished)
    return Results(
        rows=rows,
        failures=tuple(item for item in history.launches if not item.ok and not item.forgiven),
        analysis=analysis,
        winner=winner,
        verdict=(
            *([title(design.step_cost)] if design.step_cost is not None else []),
            *_verdict(design, history, rows, analysis, winner, finished, unlaunched_words(unlaunched)),
            *doubt_words(history, winner),
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
        answers=agreement_words(history),
        unlaunched=unlaunched,
        shared=tuple(shared),
        search_speeds=_search_speeds(design, history),
        open_rounds=open_rounds(design, history),
        set_aside=sum(item.drifted for item in history.launches),
        looked_again=sum(item.extra for item in history.launches),
    )


def _verdict(
    design: Design,
    history: History,
    rows: Sequence[Row],
    analysis: Analysis | None,
    winner: Arm | None,
    finished: str,
    unlaunched: Sequence[str],
) -> tuple[str, ...]:
    """The sentences on what was compared, on what the servers made of it by themselves, and on what was not
    launched."""
    base = ran_key(history, design.baseline) if design.baseline is not None else ""
    named = [row for row in rows if row.winner or row.arm == base]
    return conclude(
        ran_key(history, design.as_is) if design.as_is is not None else None,
        rows,
        analysis,
        winner,
        finished,
        _lost(design, history),
        refused="as it stands" in design.rejected,
        absent=design.stands is None,
        aside=history.aside,
        barred=tuple(_barred(design, history, analysis)),
        real=design.step_cost is None,
        more=(*verdict_words({row.label: row.rewritten for row in named}), *unlaunched),
    )


def _lost(design: Design, history: History) -> Launch | None:
    """The failure for which the baseline could not be measured."""
    return history.condemned().get(design.baseline.key) if design.baseline is not None else None


def _search_speeds(design: Design, history: History) -> tuple[Mapping[int, float], ...]:
    """Speeds of the baseline in the search by concurrency, one for each stretch between two moves."""
    base = ran_key(history, design.baseline) if design.baseline is not None else ""
    out = []
    for segment in range(history.segment + 1):
        good = [item for item in history.of(base) if item.phase != ROUND and item.segment == segment]
        levels = sorted({level for item in good for level in item.scores})
        speeds = {level: [item.scores[level] for item in good if level in item.scores] for level in levels}
        out.append({level: math.exp(mean(values)) for level, values in speeds.items()})
    return tuple(out) if any(out) else ()


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
