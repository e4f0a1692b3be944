"""The stand-in's formula: what a step costs, which drafts are accepted, which tokens come out.

Time of a step with k draft steps and a batch of b, in seconds: ``DECODE * (1 + 0.03 (b - 1)) * (compute +
communication * protocol(NCCL_PROTO) + verify(k) + 0.3 k)``. Drafts are accepted with chance ``0.75 - 0.05
i`` at position i. The best number of steps is therefore 2, the best protocol LL; both together make about
1.5 times the speed of no speculation with default settings.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eaglecfg.tune.standin.settings import Settings

DECODE_S = 0.004
COMPUTE, COMMUNICATION = 0.7, 0.3
PROTOCOLS = {None: 1.0, "LL": 0.8, "LL128": 0.9, "Simple": 1.4}
VERIFY, DRAFT = 0.12, 0.3
BATCH = 0.03
PREFILL_S, PREFILL_TOKEN_S = 0.002, 0.00002
FIRST_CHANCE, CHANCE_FALL = 0.75, 0.05
VOCABULARY = 32000
SIMULATED_TOKEN = 100
"""What SGLang answers with when it simulates acceptance."""
STOP_EVERY = 97
"""Without ignore_eos every token divisible by this ends the answer."""


@dataclass(frozen=True, slots=True)
class Step:
    """One verify step (or one decode step): the tokens it yields and how many drafts were accepted."""

    tokens: tuple[int, ...]
    correct: int


class Model:
    """Deterministic in settings and prompt."""

    def __init__(self, settings: Settings) -> None:
        self.num_steps = settings.num_steps
        protocol = PROTOCOLS.get(settings.environment.get("NCCL_PROTO"), 1.0)
        cost = COMPUTE + COMMUNICATION * protocol
        if self.num_steps:
            cost += VERIFY + DRAFT * self.num_steps
        noise = settings.number("noise", 0.0)
        if noise:
            seed = settings.environment.get("EAGLECFG_STANDIN_SEED") or settings.environment.get(
                "EAGLECFG_LAUNCH"
            )
            cost *= 1 + noise * random.Random(str(seed)).gauss(0, 1)
        self.step_cost = DECODE_S * cost
        self.wrong_from: int | None = None
        self.simulated = settings.simulated
        self.dummy = settings.flags.get("load_format") == "dummy"

    def step_seconds(self, batch: int) -> float:
        """Seconds of one step at this batch size."""
        return self.step_cost * (1 + BATCH * (max(batch, 1) - 1))

    def prefill_seconds(self, tokens: int, cached: int) -> float:
        """Seconds until the first token."""
        return PREFILL_S + PREFILL_TOKEN_S * (tokens - cached)

    def tokens(self, prompt: Sequence[int]) -> Iterator[int]:
        """The greedy answer, without end; the same whatever the speculation."""
        chooser = random.Random(digest(prompt))
        for place in itertools.count():
            token = chooser.randrange(3, VOCABULARY)
            wrong = self.wrong_from is not None and place >= self.wrong_from
            yield (token + 1) % VOCABULARY if wrong else token

    def steps(self, prompt: Sequence[int]) -> Iterator[Step]:
        """The steps after the prefill's own token."""
        tokens = self.tokens(prompt)
        next(tokens)
        chance = random.Random(digest(prompt) + 1)
        while True:
            correct = 0
            if self.simulated and self.num_steps:
                correct = self.drawn(chance) - 1
                yield Step((SIMULATED_TOKEN,) * (correct + 1), correct)
                continue
            first = 0.0 if self.dummy else FIRST_CHANCE  # made-up weights agree with nothing
            while correct < self.num_steps and chance.random() < first - CHANCE_FALL * correct:
                correct += 1
            yield Step(tuple(next(tokens) for _ in range(correct + 1)), correct)

    def drawn(self, chance: random.Random) -> int:
        """A simulated accept length: one of the two whole numbers around the mean (SGLang 0.5.14
        srt/speculative/spec_utils.py:295-309)."""
        length = max(1.0, min(self.num_steps + 1.0, self.simulated))
        return int(length) + (chance.random() < length % 1)


def digest(prompt: Sequence[int]) -> int:
    """A number that is the same in every process for the same prompt."""
    return int.from_bytes(hashlib.blake2b(repr(list(prompt)).encode(), digest_size=8).digest(), "big")


def expected_accept_length(num_steps: int) -> float:
    """What ``steps`` yields per step in the long run."""
    total, reached = 1.0, 1.0
    for position in range(num_steps):
        reached *= FIRST_CHANCE - CHANCE_FALL * position
        total += reached
    return total
