"""Where a study stands, read from its ledger by anybody, while it runs or after."""

from __future__ import annotations

import platform
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eaglecfg.source.secrets import redact_arguments
from eaglecfg.tune.deadline import until_time
from eaglecfg.tune.ledger import Event, last_session
from eaglecfg.tune.opened import Opened, changed
from eaglecfg.tune.plan import make_plan
from eaglecfg.tune.process import identity_of
from eaglecfg.tune.ranking import best_so_far

State = Literal[
    "never started", "running", "finished", "checked", "gave up", "interrupted", "killed", "elsewhere"
]
"""``checked``: a machine check was run last, and is done. ``killed``: the coordinator is gone and wrote no
end. ``elsewhere``: it began on another host, from where alone it can be seen whether it still runs."""

ENDS = ("finished", "checked", "interrupted")
"""Events of the ledger that end a session."""

PREFIX = "launch.prefix"
PLAIN_WORD = re.compile(r"[\w{}./=:@%+,-]+")
"""A word of a command that means itself within quotes; shlex would quote {python}."""

BLOCKS = "block_seconds"
READY = "server_info.json"
"""The file in a launch's folder from which on its server answers."""


@dataclass(frozen=True, slots=True)
class Now:
    """The launch that runs. ``doing`` is ``starting`` or ``measuring``, ``seconds`` since its start;
    ``fills_caches``: it is compared with nothing."""

    n: int
    label: str
    doing: str
    seconds: float
    folder: str
    fills_caches: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """One look at a study.

    ``failures`` counts failed launches by class, ``best`` is the leading setting and its shrunken factor over
    the baseline, ``left_s`` the seconds that the launches left are expected to take. ``quiet_s`` is the time
    since the last line of the record. ``aside`` counts launches under other conditions, ``aside_why`` tells
    which, and how they are seen. ``ends_at`` is when a running study's budget ends it (seconds since the
    epoch), None where no time does.
    """

    name: str
    state: State
    pid: int | None
    host: str
    why: str
    now: Now | None
    done: int
    left: int
    left_s: float
    failures: Mapping[str, int]
    best: tuple[str, float] | None
    quiet_s: float | None
    aside: int = 0
    aside_why: str = ""
    ends_at: float | None = None


def standing(opened: Opened, events: Sequence[Event], at: float) -> Standing:
    """Where the study stands at ``at`` (seconds since the epoch). Takes no lock and writes nothing."""
    history = opened.history(events)
    session = last_session(events)
    plan = make_plan(opened, history)
    state, why = _state(events, session)
    running = state == "running"
    return Standing(
        name=opened.name,
        state=state,
        pid=session.data["pid"] if session is not None and running else None,
        host=str(session.data["host"]) if session is not None else "",
        why=why,
        now=_now(events, at) if running else None,
        done=len(history.launches),
        left=plan.launches,
        left_s=plan.seconds,
        failures=Counter(item.failure for item in history.launches if not item.ok and not item.forgiven),
        best=best_so_far(opened.design, history),
        quiet_s=max(0.0, at - events[-1].at) if events else None,
        aside=history.aside,
        aside_why=aside_because(opened, events) if history.aside else "",
        ends_at=_ends_at(opened, events, session) if session is not None and running else None,
    )


def budget_of(events: Sequence[Event]) -> Mapping[str, Any]:
    """The budget of the session that was begun last: options may have given it another than its file."""
    session = last_session(events)
    budget: Mapping[str, Any] = session.data.get("budget", {}) if session is not None else {}
    return budget


def _ends_at(opened: Opened, events: Sequence[Event], session: Event) -> float | None:
    """When the session's budget of time is spent."""
    budget, ends = budget_of(events), list[float]()
    if budget.get("hours") is not None:
        before = opened.history([event for event in events if event.seq < session.seq]).busy_s
        ends.append(session.at + budget["hours"] * 3600 - before)
    if budget.get("until") is not None:
        ends.append(until_time(budget["until"], session.at))
    return min(ends, default=None)


def aside_because(opened: Opened, events: Sequence[Event]) -> str:
    """Why launches of the record do not count, and how those of its last session are seen."""
    session = last_session(events)
    before = session.data["described"] if session is not None else opened.described
    now = opened.described
    keys = changed(before, now)
    if PREFIX not in keys:
        return f"measured under other conditions ({', '.join(keys) or 'an earlier session tells'})"
    words = " ".join(
        word if PLAIN_WORD.fullmatch(word) else shlex.quote(word) for word in redact_arguments(before[PREFIX])
    )
    # How long blocks are goes by the prefix.
    others = [key for key in keys if key not in (PREFIX, BLOCKS)]
    more = f", and with other {', '.join(others)}" if others else ""
    return f"measured with another launch prefix{more}: --launch-prefix {shlex.quote(words)} shows them"


def _state(events: Sequence[Event], session: Event | None) -> tuple[State, str]:
    if session is None:
        return "never started", ""
    after = [event for event in events if event.seq > session.seq]
    end = next((event for event in reversed(after) if event.kind in ENDS), None)
    if end is not None and end.kind != "interrupted":
        good: State = "finished" if end.kind == "finished" else "checked"
        return ("gave up" if end.data.get("broken") else good), str(end.data["why"])
    if end is not None:
        return "interrupted", str(end.data["signal"])
    if session.data["host"] != platform.node():
        return "elsewhere", f"it was begun on {session.data['host']}; look there whether it runs"
    known = session.data.get("identity")
    if known and identity_of(session.data["pid"]) == known:
        return "running", ""
    return "killed", "its process is gone and wrote no end; the same command goes on"


def _now(events: Sequence[Event], at: float) -> Now | None:
    """The launch that has begun and not ended."""
    last = next((event for event in reversed(events) if event.kind in ("launch", "ended")), None)
    if last is None or last.kind == "ended":
        return None
    folder = Path(last.data["folder"])
    doing = "measuring" if (folder / READY).exists() else "starting"
    label, fills = last.data["arm"]["label"], bool(last.data.get("cold"))
    return Now(last.data["n"], label, doing, max(0.0, at - last.at), str(folder), fills)
