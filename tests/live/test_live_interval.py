"""The interval of an accept length."""

from __future__ import annotations

import random

import pytest

from eaglecfg.live.accept import accept_length, interval


def drawn(chooser: random.Random, requests: int, chance: float = 0.6) -> list[tuple[float, int]]:
    """Requests of 20 to 40 verify steps of up to three drafts; prompts differ in how easy they are."""
    out = []
    for _ in range(requests):
        own = min(0.95, max(0.05, chooser.gauss(chance, 0.08)))
        steps = chooser.randint(20, 40)
        correct = sum(next((i for i in range(3) if chooser.random() >= own), 3) for _ in range(steps))
        out.append((float(correct), steps))
    return out


def test_length_is_tokens_over_steps_not_a_mean_of_ratios() -> None:
    assert accept_length([(10.0, 10), (0.0, 90)]) == pytest.approx(1.1)
    assert accept_length([]) is None


def test_few_requests_have_no_interval() -> None:
    assert interval([(10.0, 10)] * 4) is None
    assert interval([(10.0, 10)] * 5) == (2.0, 2.0)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    chooser = random.Random(7)
    truth = accept_length(drawn(chooser, 5_000))
    assert truth is not None
    held = 0
    for _ in range(60):
        bounds = interval(drawn(chooser, 24))
        assert bounds is not None
        held += bounds[0] <= truth <= bounds[1]
    assert held >= 51, "24 requests give a little less than 95 %"


def test_it_is_the_same_for_the_same_requests() -> None:
    requests = drawn(random.Random(1), 24)
    assert interval(requests) == interval(list(requests))
    low, high = interval(requests) or (0.0, 0.0)
    assert low < (accept_length(requests) or 0.0) < high
