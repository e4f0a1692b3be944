"""The running server accepts fewer drafts than the deployment did when it was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)

if TYPE_CHECKING:
    from eaglecfg.rules.live.running import Generations, Running


def check(ctx: Context) -> Iterator[Item]:
    """Compare the measured accept length and its interval with expected_accept_length."""
    running = ctx.running
    assert running is not None
    generations = running.generations
    if generations is None or not ctx.speculates:
        yield NotApplicable()
    elif generations.accept_length is None:
        yield NotChecked("no accept length was measured")
    else:
        yield from _judge(ctx, running, generations, generations.accept_length)


def _judge(ctx: Context, running: Running, measured: Generations, length: float) -> Iterator[Item]:
    from eaglecfg.rules.live.judge import TOLERANCE, requests

    expected = ctx.model.expected_accept_length
    seen = f"{length:.2f}{_interval(measured)} over {requests(measured.counted)} ({measured.origin})"
    if expected is None:
        yield NotChecked(
            f"the server accepts {seen}, and the config does not say what to expect",
            help=f"once the wiring is known to be right, write expected_accept_length: {length:.2f} in the "
            "deployment (eaglecfg tune --apply does)",
        )
        return
    least = expected * (1 - TOLERANCE)
    if measured.high is None or measured.low is None:
        yield NotChecked(f"too few requests for an interval: {seen}")
    elif measured.high < least:
        yield Finding(
            f"silent loss: the server at {running.url} accepts {seen}, {expected:g} was measured before: "
            f"{(1 - length / expected) * 100:.0f} % fewer tokens per verify step",
            path=ctx.where("expected_accept_length"),
            why="the server is healthy and its answers are right; every verify step yields fewer tokens",
            help="compare what runs with this config (the other findings) and look at the wiring (eaglecfg "
            "trace); if it was measured on other prompts, give those with --live-prompts",
            evidence=(Evidence(f"{running.url}/generate", measured.counters, f"{length:.3f}"),),
            values=_values(measured, expected),
            arithmetic=(f"{expected:g} × {1 - TOLERANCE:g} = {least:.3f} > {measured.high:.3f}",),
        )
    elif measured.low > expected * (1 + TOLERANCE):
        yield Finding(
            f"the server at {running.url} accepts {seen}, more than the {expected:g} that is expected",
            path=ctx.where("expected_accept_length"),
            severity=Severity.INFO,
            today=Today.NOTHING,
            help="other prompts, or an old measurement: an expectation that is too low finds no loss",
            values=_values(measured, expected),
        )
    elif length < least:
        yield NotChecked(
            f"cannot be told: {seen}, {expected:g} is expected; ask for more with --live-requests"
        )


def _values(measured: Generations, expected: float) -> dict[str, float | int | None]:
    return {
        "accept_length": measured.accept_length,
        "low": measured.low,
        "high": measured.high,
        "expected": expected,
        "requests": measured.counted,
        "verify_steps": measured.verify_steps,
    }


def _interval(measured: Generations) -> str:
    if measured.low is None or measured.high is None:
        return ""
    return f" [{measured.low:.2f}, {measured.high:.2f}]"


RULE = Rule(
    id="EC858",
    slug="live-accept-length",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.RUNNING,),
    follows=("EC854", "EC857", "EC859"),
)
