"""When silence is a hang."""

from __future__ import annotations

import time

import pytest

from eaglecfg.tune.pulse import Pulse


def steady(gap: float, *, floor: float = 1.0) -> Pulse:
    pulse = Pulse(floor, 20, warming_s=100)
    pulse.warming = False
    pulse.sent()
    pulse.token(None, gap)
    for _ in range(9):
        pulse.token(gap, None)
    return pulse


def test_fast_servers_have_the_floor_and_slow_ones_twenty_steps() -> None:
    assert steady(0.001).allowed_s == 1.0
    assert steady(0.5).allowed_s == pytest.approx(10.0)


def test_one_long_pause_does_not_move_the_median() -> None:
    pulse = steady(0.1)
    pulse.token(60.0, None)
    assert pulse.allowed_s == pytest.approx(2.0)


def test_a_concurrency_that_is_new_to_the_server_has_the_start_up_limit() -> None:
    pulse = steady(0.001)
    pulse.warming = True
    assert pulse.allowed_s == 100


def test_long_prefills_are_waited_for_while_nothing_else_runs() -> None:
    pulse = steady(0.001)
    pulse.ended(answered=True)
    pulse.sent()
    pulse.token(None, 30.0)
    pulse.ended(answered=True)
    pulse.sent()
    assert pulse.allowed_s == 90
    pulse.token(None, 20.0)
    assert pulse.allowed_s == 1.0


def test_without_a_request_there_is_no_silence() -> None:
    pulse = Pulse(0.01, 20, warming_s=0)
    pulse.warming = False
    time.sleep(0.03)
    assert not pulse.hangs
    pulse.sent()
    assert not pulse.hangs
    time.sleep(0.03)
    assert pulse.hangs
    pulse.ended(answered=False)
    assert not pulse.hangs
