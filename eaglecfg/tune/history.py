"""A study's ledger folded into what the scheduler and the report need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eaglecfg.tune.answers import Compared, judged
from eaglecfg.tune.arm import OFF
from eaglecfg.tune.ledger import Event
from eaglecfg.tune.process import boot_of
from eaglecfg.tune.statistics import mean
from eaglecfg.tune.surroundings import Place, comparable

MACHINE_FAILURES = frozenset(("machine", "client"))
"""Failures that say nothing about the setting: retried, never told to the sampler."""

AMBIGUOUS_FAILURES = frozenset(("hang", "startup"))
"""Failures that the machine may have caused as well: they get one launch more before they count."""

BASELINE_AMBIGUOUS = AMBIGUOUS_FAILURES | {"crash"}
"""The same for a baseline: nothing can be compared without it, so that a death without a cause in its log is
looked at twice, too."""

MOST_RETRIES = 2
"""Launches repeated in a row after machine failures before the study stops."""

MOVED = "its speed moved"
"""Why the baseline is launched again at once: the ledger has it beside the launch."""

ROUND = "round"
SEARCH = "search"
ANCHOR = "anchor"
REPLICATE = "replicate"
CHECK = "check"
"""The machine check: it tells the spread of launches, and is no part of the study's own."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One finished launch. ``arm`` is what was asked, ``ran`` the key of what the server says it ran.

    ``scores`` are logs of output tokens per second by concurrency, empty for a failed launch. ``counters``
    hold per concurrency [accepted tokens, verify steps, step milliseconds x steps]. ``limits`` name limits
    of the objective that were broken. ``seconds`` is the whole launch, start to all clear, ``ready_s`` its
    start and first warm-up. ``forgiven`` failures stay in the record and decide nothing any more.
    ``baseline``: the deployment as it stands, or that without speculation.
    ``unsettled`` are concurrencies whose warm-up never agreed with itself, ``wander`` is how far passes over
    the same prompts differed within the launch, as a share. ``doubtful``: killed, perhaps from outside.
    ``timings`` are the seconds of its parts (startup, warmup, measure, stop).
    ``blocks`` are logs of output tokens per second of its blocks, by concurrency, ``curtailed`` the
    concurrencies at which the last of them were left out.
    ``latency`` are percentiles in ms (``ttft_p99``) and ``positions`` shares of verify steps that accepted
    more than i drafts, by concurrency.
    ``held_back`` is the share of its time in which a GPU's clocks were, by reason.
    ``segment`` counts the moves of the machine's speed before it, ``drifted``: measured while it moved.
    ``extra``: a launch of the baseline that only looks whether that speed has moved.
    ``agreement`` is the mean share of its greedy answers up to the first difference from those of a launch of
    the baseline ``against``, ``compared`` what was counted there; None where nothing was compared.
    ``boot`` is the machine's boot id at its time.
    """

    n: int
    arm: str
    ran: str
    phase: str
    round: int
    failure: str = ""
    message: str = ""
    lines: tuple[str, ...] = ()
    scores: Mapping[int, float] = field(default_factory=dict)
    counters: Mapping[int, Sequence[float]] = field(default_factory=dict)
    startup_s: float = 0.0
    ready_s: float = 0.0
    seconds: float = 0.0
    agreement: float | None = None
    rewritten: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    folder: str = ""
    note: str = ""
    forgiven: bool = False
    baseline: bool = False
    unsettled: tuple[int, ...] = ()
    wander: float | None = None
    doubtful: bool = False
    timings: Mapping[str, float] = field(default_factory=dict)
    segment: int = 0
    drifted: bool = False
    extra: bool = False
    blocks: Mapping[int, Sequence[float]] = field(default_factory=dict)
    curtailed: tuple[int, ...] = ()
    held_back: Mapping[str, float] = field(default_factory=dict)
    latency: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    positions: Mapping[int, Sequence[float]] = field(default_factory=dict)
    compared: Compared | None = None
    against: str = ""
    boot: str = ""

    @property
    def ok(self) -> bool:
        """Whether it gave numbers."""
        return not self.failure

    @property
    def counts(self) -> bool:
        """Whether its numbers stand: those from before a drift was noticed do not."""
        return self.ok and not self.drifted

    @property
    def ambiguous(self) -> bool:
        """Whether the machine may have caused the failure as well as the setting."""
        return self.doubtful or self.failure in (BASELINE_AMBIGUOUS if self.baseline else AMBIGUOUS_FAILURES)

    @property
    def score(self) -> float:
        """Mean log speed over the concurrencies: the log of their geometric mean."""
        return mean(list(self.scores.values()))


@dataclass(frozen=True, slots=True)
class Started:
    """A launch whose end is not in the ledger: the coordinator died while it ran."""

    n: int
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class History:
    """Everything finished under the study's present conditions, in ledger order.

    ``told`` lists what the sampler has been told, in order: launches by number, rejected arms by key.
    ``arms`` keeps label and values of every arm ever launched. ``aside`` counts launches measured under
    other conditions. ``moves`` is how far (log) the machine's speed had moved by each segment. ``proofs`` are
    records of launches with NCCL's log on, by arm; they measure nothing. ``checks`` are the launches of the
    machine check, ``colds`` those that filled caches; both stand in none of the other fields. ``cut_off``
    counts the launches that ended with the coordinator or by its interruption. ``boots`` are the boots of the
    machine during which the server was started well as it is started now.
    """

    launches: tuple[Launch, ...]
    told: tuple[int | str, ...]
    arms: Mapping[str, Mapping[str, Any]]
    started: tuple[Started, ...]
    last_number: int
    aside: int
    moves: Mapping[int, float] = field(default_factory=dict)
    proofs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    checks: tuple[Launch, ...] = ()
    cut_off: int = 0
    colds: tuple[Launch, ...] = ()
    boots: frozenset[str] = frozenset()

    def of(self, arm: str, *phases: str) -> list[Launch]:
        """Good launches that ran ``arm``, optionally of some phases."""
        good = [item for item in self.launches if item.counts and item.ran == arm]
        return [item for item in good if not phases or item.phase in phases]

    def settled(self) -> list[Launch]:
        """Launches that are not to be repeated: failures that are forgiven, those of the machine, first
        ambiguous ones and what was measured during a drift left out."""
        out: list[Launch] = []
        doubted: dict[str, bool] = {}
        for item in self.launches:
            if item.failure in MACHINE_FAILURES or item.forgiven or item.drifted:
                continue
            if item.ambiguous and item.arm not in doubted:
                doubted[item.arm] = item.doubtful
                continue
            # A setting that was killed and then ran was not at fault: the next kill is a first one again.
            if item.ok and doubted.get(item.arm):
                del doubted[item.arm]
            out.append(item)
        return out

    def paid(self) -> list[Launch]:
        """Settled launches that a budget of launches pays for: those that only look whether the machine's
        speed has moved are left out as well."""
        return [item for item in self.settled() if not item.extra]

    def condemned(self) -> dict[str, Launch]:
        """Arms that failed for reasons of their own, with the launch that shows it; not launched again unless
        the failure is forgiven."""
        return {item.arm: item for item in self.settled() if not item.ok}

    def aliases(self) -> dict[str, str]:
        """Arms that the server rewrites into another setting -> that setting."""
        return {item.arm: item.ran for item in self.launches if item.ok and item.ran != item.arm}

    def retried(self) -> History:
        """The history once all failures are forgiven."""
        arms = tuple(self.condemned())
        return replace(self, launches=tuple(_forgiven(item, arms) for item in self.launches))

    @property
    def timed(self) -> list[Launch]:
        """Good launches of any purpose: what their times tell holds for the next one."""
        return [item for item in (*self.checks, *self.launches, *self.colds) if item.ok]

    @property
    def warm(self) -> list[Launch]:
        """Good launches of any purpose but the first of each boot, which found caches cold."""
        in_order = sorted(self.timed, key=lambda item: item.n)
        first = {item.boot: item.n for item in reversed(in_order)}
        return [item for item in in_order if item.n != first[item.boot]]

    @property
    def filling(self) -> tuple[Launch, ...]:
        """Launches of the study, not of its machine check, that filled caches."""
        return tuple(item for item in self.colds if item.phase != CHECK)

    def without(self, numbers: Collection[int]) -> History:
        """The history less these launches."""
        return replace(self, launches=tuple(item for item in self.launches if item.n not in numbers))

    @property
    def segment(self) -> int:
        """Moves of the machine's speed so far."""
        return max((item.segment for item in self.launches), default=0)

    def level(self, item: Launch) -> float:
        """``item``'s score as it would have been before the machine's speed moved: less what the baseline
        moved by."""
        return item.score - self.moves.get(item.segment, 0.0)

    @property
    def busy_s(self) -> float:
        """Seconds spent in finished launches."""
        return sum(item.seconds for item in (*self.filling, *self.launches))


def fold(events: Sequence[Event], conditions: str, place: Place | None = None) -> History:
    """The history under ``conditions``: the hash of all that a measurement depends on besides the arm. Of
    ``boots`` it knows nothing.

    Only launches count that ran at ``place`` (None: that of the last session) and on the version of the
    engine that ran last.
    """
    elsewhere = _elsewhere(events, conditions, place)
    launches: list[Launch] = []
    told: list[int | str] = []
    arms: dict[str, Mapping[str, Any]] = {}
    open_launches: dict[int, Mapping[str, Any]] = {}
    last, aside, cut_off = 0, 0, 0
    moves: dict[int, float] = {}
    proofs: dict[str, Mapping[str, Any]] = {}
    checks: list[Launch] = []
    colds: list[Launch] = []
    retried: set[int] = set()
    for event in events:
        data = event.data
        if event.kind == "launch":
            last = max(last, data["n"])
            open_launches[data["n"]] = dict(data)
            arms[data["arm"]["key"]] = data["arm"]
        elif event.kind == "running" and data["n"] in open_launches:
            open_launches[data["n"]] = {**open_launches[data["n"]], **data}
        elif event.kind in ("ended", "interrupted", "orphan"):
            asked = open_launches.pop(data.get("n", 0), None)
            if event.kind != "ended" or asked is None:
                cut_off += asked is not None and asked["conditions"] == conditions
                continue
            if asked["conditions"] != conditions or event.seq in elsewhere:
                aside += not asked.get("cold")
                continue
            filled = asked.get("cold") and not data["failure"]
            if filled or asked["phase"] == CHECK:
                (colds if filled else checks).append(_launch(asked, data))
                continue
            launch = _launch(asked, data, len(moves))
            if data.get("ran_arm"):
                arms.setdefault(launch.ran, data["ran_arm"])
            launches.append(launch)
            told.append(launch.n)
        elif event.kind == "retry" and data["conditions"] == conditions:
            retried |= {item.n for item in launches if item.arm in data["arms"]}
            launches = [_forgiven(item, data["arms"]) for item in launches]
            checks = [_forgiven(item, data["arms"]) for item in checks]
        elif event.seq in elsewhere:
            continue
        elif event.kind == "drift" and data["conditions"] == conditions:
            moves[len(moves) + 1] = data["change"] + moves.get(len(moves), 0.0)
            launches = [_moved(item, data, len(moves)) for item in launches]
        elif event.kind == "rejected" and data["conditions"] == conditions:
            told.append(data["arm"]["key"])
        elif event.kind == "proof" and data["conditions"] == conditions:
            proofs[data["arm"]["key"]] = data
    started = tuple(Started(number, data) for number, data in open_launches.items())
    whole, own = _judged_anew(judged(launches, checks, arms), retried), tuple(checks)
    return History(whole, tuple(told), arms, started, last, aside, moves, proofs, own, cut_off, tuple(colds))


def _judged_anew(launches: Sequence[Launch], retried: Collection[int]) -> tuple[Launch, ...]:
    """Launches that failed by what is known now, perhaps after they were forgiven, stay so."""
    return tuple(
        replace(item, forgiven=True) if not item.ok and item.n in retried else item for item in launches
    )


def _elsewhere(events: Sequence[Event], conditions: str, place: Place | None) -> set[int]:
    """Sequence numbers of events that tell of another place, or of another version of the engine."""
    sessions = [event for event in events if event.kind == "session"]
    now = place if place is not None or not sessions else sessions[-1].data.get("place")
    here: Place | None = None
    conditions_of: dict[int, str] = {}
    used: dict[int, list[str]] = {}
    versions: dict[int, str] = {}
    found: set[int] = set()
    for event in events:
        number = event.data.get("n", 0)
        if event.kind == "session":
            here = event.data.get("place")
        elif event.kind == "launch":
            conditions_of[number] = event.data["conditions"]
        elif event.kind == "running":
            used[number] = list(event.data.get("gpu_mib", ()))
        elif event.kind in ("ended", "drift", "proof"):
            if not comparable(here, now, used.get(number, ())):
                found.add(event.seq)
            elif event.kind == "ended" and conditions_of.get(number) == conditions:
                versions[event.seq] = event.data.get("engine_version", "")
    known = [version for version in versions.values() if version]
    return found | {seq for seq, version in versions.items() if version and version != known[-1]}


def _forgiven(item: Launch, arms: Sequence[str]) -> Launch:
    return item if item.ok or item.arm not in arms else replace(item, forgiven=True)


def _moved(item: Launch, data: Mapping[str, Any], segment: int) -> Launch:
    if item.n in data["since"]:
        return replace(item, segment=segment, extra=True)
    return replace(item, drifted=True) if item.n in data["aside"] else item


def _is_baseline(arm: Mapping[str, Any]) -> bool:
    changed = set(arm["changed"])
    return not changed or (changed == {"speculative"} and arm["values"].get("speculative") == OFF)


def _launch(asked: Mapping[str, Any], data: Mapping[str, Any], segment: int = 0) -> Launch:
    key = asked["arm"]["key"]
    return Launch(
        n=data["n"],
        arm=key,
        ran=data.get("ran") or key,
        phase=asked["phase"],
        round=asked["round"],
        segment=segment,
        failure=data["failure"] or "",
        message=data["message"],
        lines=tuple(data["lines"]),
        scores={int(level): value for level, value in data["scores"].items()},
        counters={int(level): value for level, value in data["counters"].items()},
        startup_s=data["startup_s"] or 0.0,
        ready_s=sum(data.get("timings", {}).get(part, 0.0) for part in ("startup", "warmup")),
        seconds=data["seconds"],
        agreement=data["agreement"],
        rewritten=data["rewritten"],
        extra=asked.get("again") == MOVED,
        limits=tuple(data["limits"]),
        folder=asked["folder"],
        note=data.get("note", ""),
        baseline=_is_baseline(asked["arm"]),
        unsettled=tuple(data.get("unsettled", ())),
        wander=data.get("wander"),
        doubtful=data.get("doubtful", False),
        timings=data.get("timings", {}),
        curtailed=tuple(data.get("curtailed", ())),
        held_back=data.get("held_back", {}),
        latency={int(level): values for level, values in data.get("latency", {}).items()},
        positions={int(level): values for level, values in data.get("positions", {}).items()},
        blocks={int(level): tuple(values) for level, values in data.get("blocks", {}).items()},
        compared=Compared(*data["compared"]) if data.get("compared") else None,
        against=data.get("against", ""),
        boot=boot_of(asked.get("identity", "")),
    )
