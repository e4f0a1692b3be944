"""The load of one launch: warm-up until it repeats, then blocks; and the numbers of a block."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eaglecfg.tune.client import Client, Exchange, Sampling
from eaglecfg.tune.counters import Acceptance, add_up, read_request
from eaglecfg.tune.load import Load, run_load
from eaglecfg.tune.percentiles import summary_ms
from eaglecfg.tune.pulse import Pulse
from eaglecfg.tune.trial import Block, MeasurePlan, Prompt, WarmUp

Progress = Callable[[str, Mapping[str, Any]], None]
Record = Callable[[Sequence[Mapping[str, Any]]], None]


Enough = Callable[[int, Sequence[float]], bool]
"""Whether the rest of the blocks at a concurrency is left out, by the logs of the speeds of those before."""


def never(concurrency: int, speeds: Sequence[float]) -> bool:
    """Every block is measured."""
    return False


TOKEN_BYTES = 4
"""Bytes of text that a token comes to, roughly."""

MOST_ANSWERS = 32
"""Measured answers kept of each concurrency, to be compared with other launches'."""

MOST_PASSES = 200
"""Passes over one stretch of prompts at most, however fast the server."""


class BadOutput(Exception):
    """The server answered, but not what was asked for: a refusal, an abort, fewer tokens than demanded."""


@dataclass(slots=True)
class Measurement:
    """Collects what a launch measures, so that a launch that ends early keeps what it had."""

    client: Client
    plan: MeasurePlan
    prompts: Sequence[Prompt]
    pulse: Pulse
    progress: Progress
    record: Record
    num_steps: int | None = None
    enough: Enough = never
    blocks: list[Block] = field(default_factory=list)
    answers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    warmups: list[WarmUp] = field(default_factory=list)
    curtailed: list[int] = field(default_factory=list)

    async def run(self, warmed: Callable[[], None]) -> None:
        """Highest concurrency first. ``warmed`` is called at the end of the first warm-up.

        Raises BadOutput for answers that make the launch worthless, Unanswered for broken connections.
        """
        for concurrency in sorted(set(self.plan.concurrency), reverse=True):
            self.pulse.warming = True
            await self._warm_up(concurrency)
            self.pulse.warming = False
            warmed()
            for index in range(self.plan.blocks):
                await self._block(concurrency, index)
                if index + 1 < self.plan.blocks and self.enough(concurrency, self._speeds(concurrency)):
                    self.curtailed.append(concurrency)
                    break
        await self._check()

    def _speeds(self, concurrency: int) -> list[float]:
        """Logs of the blocks' speeds so far."""
        return [
            math.log(block.output_tokens / block.seconds)
            for block in self.blocks
            if block.concurrency == concurrency and block.output_tokens > 0 and block.seconds > 0
        ]

    async def _warm_up(self, concurrency: int) -> None:
        """Windows of load until two in a row agree, or until enough was spent on it.

        Every window has the same prompts: others would differ by their acceptance, warm or not.
        """
        size = max(self.plan.warmup_requests, concurrency)
        speeds: list[float] = []
        agreed = False
        for window in range(max(2, self.plan.warmup_limit)):
            seconds = self.plan.warmup_seconds
            loads, _ = await self._passes("warmup", concurrency, window, self._slice(0, size), 0, seconds)
            refuse([exchange for load in loads for exchange in load.exchanges], self._sampling())
            speeds.append(speed_of(loads))
            self.progress(
                "warmup", {"concurrency": concurrency, "window": window, "tokens_per_s": round(speeds[-1], 3)}
            )
            agreed = agree(speeds[-2:], self.plan.warmup_agreement)
            if agreed:
                break
        self.warmups.append(WarmUp(concurrency, tuple(round(speed, 3) for speed in speeds), agreed))

    async def _block(self, concurrency: int, index: int) -> None:
        """One block: the same prompts in the same order for every setting, from an empty prefix cache."""
        size, seconds = max(self.plan.requests_per_block, concurrency), self.plan.block_seconds
        first = index * size
        loads, flushed = await self._passes(
            "block", concurrency, index, self._slice(first, size), first, seconds
        )
        self._keep_answers(concurrency, first, loads[0])
        block = block_of(loads, index, self._sampling(), self.num_steps, flushed=flushed)
        self.blocks.append(block)
        self.progress("block", {"block": block})
        refuse([exchange for load in loads for exchange in load.exchanges], self._sampling())

    async def _passes(
        self,
        phase: str,
        concurrency: int,
        index: int,
        prompts: Sequence[Prompt],
        first: int,
        seconds: float,
    ) -> tuple[list[Load], bool]:
        """Load over the prompts, once or as often as comes nearest to ``seconds``; also whether every pass of
        a block began with an empty prefix cache. Ends early at a request that failed."""
        sampling, loads, flushed, passes = self._sampling(), list[Load](), True, 1
        while len(loads) < passes:
            if phase == "block":
                flushed = await self.client.flush_cache() and flushed
            load = await run_load(self.client, prompts, sampling, concurrency, first=first)
            self._keep(phase, concurrency, index, load)
            loads.append(load)
            if any(fault_of(exchange, sampling) for exchange in load.exchanges):
                break
            if len(loads) == 1:
                passes = min(MOST_PASSES, round(seconds / load.steady_seconds))
        return loads, flushed

    def _keep_answers(self, concurrency: int, first: int, load: Load) -> None:
        """What measured requests answered, where they are greedy: that costs nothing more."""
        if not self.plan.greedy_check or self.plan.temperature > 0:
            return
        have = sum(name.startswith(f"{concurrency}/") for name in self.answers)
        for place, exchange in enumerate(load.exchanges, first):
            name = f"{concurrency}/{place % len(self.prompts)}"
            if have < MOST_ANSWERS and name not in self.answers and exchange.output_ids:
                self.answers[name] = exchange.output_ids[: self.plan.output_tokens]
                have += 1

    async def _check(self) -> None:
        """Greedy answers to fixed prompts, one at a time, to be compared with other launches', where no
        measured request gave any: at another temperature, or from a server that sends no whole ids."""
        plan = self.plan
        if not plan.greedy_check or self.answers:
            return
        await self.client.flush_cache()
        count, tokens = plan.whole_check
        sampling = Sampling(tokens, 0.0, plan.ignore_eos)
        self.pulse.warming = True  # one request alone may be a batch size that the server has not seen
        for number, prompt in enumerate(self.prompts[:count]):
            exchange = await self.client.generate(prompt, sampling, number, keep_ids=True)
            self.pulse.warming = False
            self.record([as_row("check", 1, number, exchange, self.num_steps)])
            refuse([exchange], sampling)
            # A server without output_ids is compared by its text.
            self.answers[f"check/{number}"] = exchange.output_ids or in_pieces(exchange.text)
        self.progress("check", {"prompts": len(self.answers)})

    def _sampling(self) -> Sampling:
        plan = self.plan
        return Sampling(plan.output_tokens, plan.temperature, plan.ignore_eos, plan.seed)

    def _slice(self, first: int, size: int) -> list[Prompt]:
        """``size`` prompts from place ``first`` of the seeded order, around and around."""
        order = list(range(len(self.prompts)))
        random.Random(self.plan.seed).shuffle(order)
        return [self.prompts[order[place % len(order)]] for place in range(first, first + size)]

    def _keep(self, phase: str, concurrency: int, index: int, load: Load) -> None:
        self.record(
            [as_row(phase, concurrency, index, exchange, self.num_steps) for exchange in load.exchanges]
        )


def in_pieces(text: str) -> tuple[int, ...]:
    """Text as numbers that each stand for about as much as a token does."""
    raw = text.encode()
    return tuple(
        int.from_bytes(raw[place : place + TOKEN_BYTES], "big") for place in range(0, len(raw), TOKEN_BYTES)
    )


def agree(speeds: Sequence[float], tolerance: float) -> bool:
    """Whether two windows are within ``tolerance`` of each other."""
    return len(speeds) == 2 and abs(speeds[1] - speeds[0]) <= tolerance * max(speeds)


def fault_of(exchange: Exchange, sampling: Sampling) -> str:
    """What is wrong with an answer; empty when nothing is."""
    if exchange.error:
        return exchange.error
    if not exchange.tokens:
        return "no token was generated"
    if sampling.ignore_eos and exchange.tokens < sampling.max_new_tokens:
        return f"{exchange.tokens} of {sampling.max_new_tokens} tokens although ignore_eos was set"
    return ""


def refuse(exchanges: Sequence[Exchange], sampling: Sampling) -> None:
    """Raise BadOutput when any answer is at fault: a failed request makes a launch invalid, not fast."""
    faults = [(exchange, fault) for exchange in exchanges if (fault := fault_of(exchange, sampling))]
    if faults:
        exchange, fault = faults[0]
        raise BadOutput(
            f"{len(faults)} of {len(exchanges)} requests failed; prompt {exchange.prompt}: {fault}"
        )


def acceptance_of(exchanges: Sequence[Exchange], num_steps: int | None) -> Acceptance | None:
    """Accept counters summed over requests."""
    return add_up(read_request(exchange.meta, num_steps) for exchange in exchanges)


def step_seconds(exchange: Exchange, num_steps: int | None) -> float | None:
    """Seconds per verify step of one request, or per token without speculation; the prefill's token is not
    counted."""
    if len(exchange.arrivals) < 2:
        return None
    acceptance = read_request(exchange.meta, num_steps)
    (begun, first), (ended, last) = exchange.arrivals[0], exchange.arrivals[-1]
    steps = acceptance.verify_steps if acceptance is not None else last - first
    return (ended - begun) / steps if steps else None


def speed_of(loads: Sequence[Load]) -> float:
    """Tokens per second over all steady windows together."""
    return sum(load.steady_tokens for load in loads) / sum(load.steady_seconds for load in loads)


def block_of(
    loads: Sequence[Load], index: int, sampling: Sampling, num_steps: int | None, *, flushed: bool
) -> Block:
    """The numbers of one block, from its passes."""
    exchanges = [exchange for load in loads for exchange in load.exchanges]
    good = [exchange for exchange in exchanges if not fault_of(exchange, sampling)]
    acceptance = acceptance_of(good, num_steps)
    steps = [seconds for exchange in good if (seconds := step_seconds(exchange, num_steps)) is not None]
    gaps, first_waits, per_token = times_of(good)
    return Block(
        concurrency=loads[0].concurrency,
        index=index,
        seconds=round(sum(load.steady_seconds for load in loads), 6),
        output_tokens=sum(load.steady_tokens for load in loads),
        tokens_per_s=round(speed_of(loads), 4),
        accept_length=round(acceptance.accept_length, 6) if acceptance else None,
        verify_steps=acceptance.verify_steps if acceptance else None,
        step_ms=round(statistics.median(steps) * 1000, 5) if steps else None,
        per_position=acceptance.per_position if acceptance else None,
        ttft_ms=summary_ms(first_waits),
        tpot_ms=summary_ms(per_token),
        itl_ms=summary_ms(gaps),
        requests=len(exchanges),
        failed=len(exchanges) - len(good),
        client_lag_ms=round(statistics.fmean(load.lag_ms for load in loads), 3),
        tail_seconds=round(sum(max(0.0, load.ended - load.steady[1]) for load in loads), 6),
        counters=acceptance.source if acceptance else "",
        flushed=flushed,
        passes=tuple(round(speed_of([load]), 3) for load in loads),
    )


def times_of(exchanges: Sequence[Exchange]) -> tuple[list[float], list[float], list[float]]:
    """Seconds between arrivals, seconds to the first token, and seconds per output token after the first."""
    gaps: list[float] = []
    waits: list[float] = []
    per_token: list[float] = []
    for exchange in exchanges:
        times = [when for when, _ in exchange.arrivals]
        waits.append(times[0] - exchange.sent)
        gaps.extend(after - before for before, after in itertools.pairwise(times))
        more = exchange.tokens - exchange.arrivals[0][1]
        if more:
            per_token.append((times[-1] - times[0]) / more)
    return gaps, waits, per_token


def as_row(
    phase: str, concurrency: int, index: int, exchange: Exchange, num_steps: int | None
) -> dict[str, Any]:
    """One line of the raw record: times relative to the request's start, in seconds."""
    acceptance = read_request(exchange.meta, num_steps)
    return {
        "phase": phase,
        "concurrency": concurrency,
        "index": index,
        "prompt": exchange.prompt,
        "sent": round(exchange.sent, 6),
        "arrivals": [[round(when - exchange.sent, 6), count] for when, count in exchange.arrivals],
        "seconds": round(exchange.ended - exchange.sent, 6),
        "tokens": exchange.tokens,
        "finish": exchange.finish,
        "verify_steps": acceptance.verify_steps if acceptance else None,
        "correct_drafts": acceptance.correct if acceptance else None,
        "histogram": acceptance.histogram if acceptance else None,
        "prompt_tokens": exchange.meta.get("prompt_tokens"),
        "cached_tokens": exchange.meta.get("cached_tokens"),
        "error": exchange.error,
    }
