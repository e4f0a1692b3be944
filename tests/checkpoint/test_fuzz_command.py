"""The fuzzing command: a few inputs of every kind now and then, and proof that it would notice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import fuzz
from benchmarks.fuzz_targets import TARGETS, Target, check


@pytest.fixture(autouse=True)
def _alarm_put_back() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_broken_files_break_nothing(name: str) -> None:
    result = fuzz.run(fuzz.Chunk(name, seed=7, first=0, count=40 if name == "validate" else 150))
    assert result.failures == []
    assert result.slowest < fuzz.BAR_SECONDS


def crash(data: bytes, folder: Path) -> None:
    check(len(data) % 5, "a multiple of five")


def hang(data: bytes, folder: Path) -> None:
    while True:
        pass


def test_a_crash_is_kept_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "crash", Target(crash, ("json",), 1.0))
    result = fuzz.run(fuzz.Chunk("crash", seed=1, first=0, count=100))
    number, data, text = result.failures[0]
    assert len(data) % 5 == 0
    assert "a multiple of five" in text
    again = fuzz.run(fuzz.Chunk("crash", seed=1, first=number, count=1))
    assert again.failures[0][:2] == (number, data)


def test_a_hang_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "hang", Target(hang, ("json",), 1.0))
    monkeypatch.setattr(fuzz, "BAR_SECONDS", 0.05)
    result = fuzz.run(fuzz.Chunk("hang", seed=1, first=0, count=1))
    assert "TooSlow" in result.failures[0][2]


def test_inputs_are_the_same_for_the_same_number() -> None:
    first, second = (fuzz.run(fuzz.Chunk("json", seed=3, first=0, count=50)) for _ in range(2))
    assert (first.count, first.failures) == (second.count, second.failures)
