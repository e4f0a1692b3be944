"""Which differences between settings are real. A launch is the unit: its replays share one process."""

from __future__ import annotations

import importlib
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eaglecfg.nccl.bench.choice import SHOWN_BY_CHOICE, Choice, choices, not_acted, read_rank_log
from eaglecfg.nccl.bench.launches import Launch, Recorded, timed
from eaglecfg.nccl.bench.plan import BenchPlan
from eaglecfg.nccl.bench.setting import DEFAULT
from eaglecfg.nccl.bench.verdicts import Cell, Outcome, Trouble, Verdict
from eaglecfg.tune.statistics import Comparison, compare

if TYPE_CHECKING:
    from eaglecfg.nccl.log.model import NcclLog

ALPHA = 0.05
LEAST_ROUNDS = 3
"""With two rounds, one backwards, the launches of one setting can be neighbours in time: a quiet minute would
look like a difference."""


def judge(recorded: Recorded) -> Outcome:
    """The table of a run. Intervals hold together, for all settings and sizes, with 95 % (Bonferroni)."""
    plan, launches = recorded.plan, recorded.launches
    troubles = _troubles(plan, launches)
    failed = {each.setting for each in troubles}
    logs = {
        each.setting: read_rank_log(each.log)
        for each in launches
        if each.kind == "check" and plan.backend == "nccl" and not each.failure
    }
    sizes = [size.bytes for size in plan.sizes]
    chosen = {
        (name, size): choice for name, log in logs.items() for size, choice in choices(log, sizes).items()
    }
    good = [each.name for each in plan.settings if each.name not in failed and timed(launches, each.name)]
    rounds = _whole_rounds(launches, good)
    others = [name for name in good if name != DEFAULT]
    judged = DEFAULT in good and len(rounds) >= LEAST_ROUNDS and bool(others) and _scipy()
    count = len(others) * len(plan.sizes) if judged else 0
    cells = []
    for size in plan.sizes:
        found = _compared(launches, good, rounds, size.bytes, count) if judged else {}
        for setting in plan.settings:
            own = [] if setting.name in failed else timed(launches, setting.name)
            cell = _cell(setting.name, size.bytes, own, found.get(setting.name), failed)
            base = timed(launches, DEFAULT) if DEFAULT in good and setting.name in good else []
            cell = _with_change(cell, base, own, found.get(setting.name), chosen)
            cells.append(cell)
    return Outcome(
        plan,
        tuple(cells),
        troubles,
        next((each.facts for each in launches if each.facts.get("torch")), {}),
        len(launches),
        sum(each.checked for each in launches),
        recorded.complete,
        count,
        len(rounds) if judged else 0,
        _notes(good, failed, rounds, others),
        _remarks(plan, logs, chosen),
    )


def _scipy() -> bool:
    """Whether Student's t is there. A scipy without its numpy is none."""
    try:
        importlib.import_module("scipy.special")
    except ImportError:
        return False
    return True


def _troubles(plan: BenchPlan, launches: Sequence[Launch]) -> tuple[Trouble, ...]:
    out: dict[str, Trouble] = {}
    for each in launches:
        if each.failure:
            out.setdefault(each.setting, Trouble(each.setting, each.failure, each.message, each.lines))
    return tuple(out[setting.name] for setting in plan.settings if setting.name in out)


def _whole_rounds(launches: Sequence[Launch], good: Sequence[str]) -> list[int]:
    """Rounds in which every setting was measured; an interrupted one is no round."""
    sets = [{each.round for each in timed(launches, name)} for name in good]
    return sorted(set.intersection(*sets)) if sets else []


def _compared(
    launches: Sequence[Launch], good: Sequence[str], rounds: Sequence[int], size: int, count: int
) -> Mapping[str, Comparison]:
    """Each setting against the default at one size; ``count`` comparisons are made over all sizes."""
    scores: dict[str, list[float]] = {}
    for name in good:
        values = [each.median(size) for each in timed(launches, name) if each.round in rounds]
        known = [value for value in values if value is not None and value > 0]
        if len(known) == len(rounds):
            scores[name] = [-math.log(value) for value in known]
    if DEFAULT not in scores or len(scores) < 2:
        return {}
    # compare() shares its alpha among the settings of one size; the sizes share it as well.
    share = ALPHA * (len(scores) - 1) / count
    return {each.arm: each for each in compare(scores, DEFAULT, alpha=share).comparisons}


def _cell(name: str, size: int, own: Sequence[Launch], found: Comparison | None, failed: set[str]) -> Cell:
    medians = [value for each in own if (value := each.median(size)) is not None]
    if not medians:
        return Cell(name, size, "failed" if name in failed else "not measured")
    wander = [value for each in own if (value := each.wander(size)) is not None]
    middle = statistics.median(medians)
    verdict: Verdict = "baseline" if name == DEFAULT else "not judged"
    if found is not None:
        verdict = "faster" if found.low > 1 else "slower" if found.high < 1 else "not shown"
    spread = (max(medians) - min(medians)) / middle if len(medians) > 1 and middle > 0 else None
    return Cell(
        name, size, verdict, middle, spread, statistics.median(wander) if wander else None, len(medians)
    )


def _with_change(
    cell: Cell,
    base: Sequence[Launch],
    own: Sequence[Launch],
    found: Comparison | None,
    chosen: Mapping[tuple[str, int], Choice],
) -> Cell:
    """The cell with its difference to the default and with what NCCL chose."""
    from eaglecfg.record import replace

    cell = replace(cell, choice=chosen.get((cell.setting, cell.size)))
    if found is not None:  # factors of speed, so that their inverses are factors of time
        return replace(cell, change=1 / found.ratio - 1, low=1 / found.high - 1, high=1 / found.low - 1)
    if cell.us is None or cell.setting == DEFAULT:
        return cell
    against = [value for each in base if (value := each.median(cell.size)) is not None]
    if not against or statistics.median(against) <= 0:
        return cell
    return replace(cell, change=cell.us / statistics.median(against) - 1)


def _notes(
    good: Sequence[str], failed: set[str], rounds: Sequence[int], others: Sequence[str]
) -> tuple[str, ...]:
    """Why there are no intervals, where there are none."""
    if DEFAULT in failed:
        return ("The default itself failed; what stands beside it has nothing to be compared with.",)
    if not others or DEFAULT not in good:
        return ()
    if len(rounds) < LEAST_ROUNDS:
        words = "no whole round" if not rounds else "one round" if len(rounds) == 1 else "two rounds"
        return (f"Nothing can be called real after {words}: give --processes {LEAST_ROUNDS} or more.",)
    if not _scipy():
        return (
            "The intervals need scipy: pip install 'eaglecfg[tune]', and show the file of --output again "
            "with --from.",
        )
    return ()


def _remarks(
    plan: BenchPlan, logs: Mapping[str, NcclLog], chosen: Mapping[tuple[str, int], Choice]
) -> dict[str, str]:
    """Settings that did not do what they say, as far as the log shows: no difference is theirs."""
    base = {size.bytes: chosen.get((DEFAULT, size.bytes)) for size in plan.sizes}
    out: dict[str, str] = {}
    for setting in plan.settings:
        log = logs.get(setting.name)
        if log is None or not setting.variables:
            continue
        clauses = list(not_acted(setting, log))
        same = all(base.values()) and all(
            chosen.get((setting.name, size)) == choice for size, choice in base.items()
        )
        if same and set(setting.variables) <= SHOWN_BY_CHOICE and not clauses:
            clauses.append("NCCL chose what it chooses by default at every size")
        if clauses:
            out[setting.name] = "; ".join(clauses)
    return out
