"""Turns the way in which a launch ended into a failure class, a sentence and the log lines behind it."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eaglecfg.tune.failure import classify, exit_words, read_tail, shown
from eaglecfg.tune.pulse import Pulse
from eaglecfg.tune.trial import Block, FailureClass, Limits


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a launch failed. ``doubtful``: somebody outside may have done it, so that it says little about the
    setting yet."""

    failure: FailureClass
    message: str
    lines: tuple[str, ...] = ()
    doubtful: bool = False


def of_exit(events: Mapping[str, Mapping[str, Any]], log: Path, *, answered: bool, warm: bool) -> Failure:
    """The server exited, could not be started, or lost its supervisor; ``events`` are the supervisor's."""
    if "failed" in events:
        return Failure("startup", f"the launch command can't be started: {events['failed']['error']}")
    if "exit" not in events:
        return Failure("machine", "the supervisor was killed")
    how = exit_words(events["exit"]["code"], events["exit"]["signal"])
    when = "during start-up" if not answered else "under load" if warm else "during warm-up"
    failure, lines = classify(read_tail(log), default="crash", starting=not answered)
    # No program ends itself so: it was an operator, or the kernel when the host's memory ran out.
    killed = failure == "crash" and events["exit"]["signal"] == signal.SIGKILL
    return Failure(failure, f"the server ended {when} with {how}", lines, doubtful=killed)


def of_output(message: str, log: Path) -> Failure:
    """The server answered something other than what it was asked for."""
    return Failure("output", message, shown(read_tail(log)[-3:]))


def of_broken_answer(message: str, log: Path) -> Failure:
    """A connection broke although no exit was seen."""
    failure, lines = classify(read_tail(log), default="crash", alive=True)
    return Failure(failure, f"the server broke off an answer but did not exit ({message})", lines)


def of_silence(pulse: Pulse, log: Path) -> Failure:
    """No token for too long."""
    failure, lines = classify(read_tail(log), default="hang", alive=True)
    silence = f"no token for {pulse.silence_s:.1f} s, {pulse.allowed_s:.1f} s are allowed"
    return Failure(failure, silence, lines)


def of_slow_start(limits: Limits, log: Path, *, answered: bool, refused: str = "") -> Failure:
    """The start-up limit is over and the server lives: slow, unless its log tells of its end. ``refused`` is
    what came of the last first generation, if one was tried."""
    failure, lines = classify(read_tail(log), default="startup", alive=True)
    what = "the warm-up did not end" if answered else "no answer"
    last = f"; of the last try: {refused}" if refused and not answered else ""
    return Failure(failure, f"{what} within the start-up limit of {limits.startup_s:g} s{last}", lines)


def of_client(blocks: Sequence[Block], limits: Limits) -> Failure | None:
    """The numbers of a load generator that could not keep up are not the server's."""
    lag = max((block.client_lag_ms for block in blocks), default=0.0)
    if lag <= limits.client_lag_ms:
        return None
    return Failure(
        "client", f"the load generator was {lag:.0f} ms late, {limits.client_lag_ms:g} ms are allowed"
    )
