"""Load at a fixed concurrency, and the client's own delay while it makes that load."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from eaglecfg.tune.client import Client, Exchange, Sampling
from eaglecfg.tune.percentiles import percentile
from eaglecfg.tune.trial import Prompt

LAG_PROBE_S = 0.01
"""How often the load generator measures its own delay."""


@dataclass(frozen=True, slots=True)
class Load:
    """What came of one stretch of load. ``steady`` is the time in which all ``concurrency`` requests were
    in flight: from when the last of the first wave was sent until the first worker found nothing more to
    send."""

    concurrency: int
    exchanges: tuple[Exchange, ...]
    steady: tuple[float, float]
    ended: float
    lag_ms: float

    @property
    def steady_tokens(self) -> int:
        """Tokens that arrived in the steady time."""
        begin, end = self.steady
        total = 0
        for exchange in self.exchanges:
            before = 0
            for when, count in exchange.arrivals:
                if begin < when <= end:
                    total += count - before
                before = count
        return total

    @property
    def steady_seconds(self) -> float:
        """Length of the steady time."""
        return max(self.steady[1] - self.steady[0], 1e-9)


@dataclass(slots=True)
class _Window:
    """Finds the steady time while the load runs."""

    concurrency: int
    sending: int = 0
    begin: float = float("inf")
    end: float = float("inf")
    exchanges: list[tuple[int, Exchange]] = field(default_factory=list)


async def run_load(
    client: Client, prompts: Sequence[Prompt], sampling: Sampling, concurrency: int, *, first: int = 0
) -> Load:
    """Send every prompt once, ``concurrency`` at a time; returns when all have been answered.

    ``first`` numbers the first request, for sampling seeds. Raises Unanswered with the first broken
    connection; refused, aborted and truncated requests are exchanges with an error.
    """
    window = _Window(min(concurrency, len(prompts)))
    queue = iter(enumerate(prompts, first))
    async with _lag_probe() as lags:
        try:
            async with asyncio.TaskGroup() as group:
                for worker in range(window.concurrency):
                    # In virtual time requests are dealt out beforehand: who is free first is real time's.
                    dealt = islice(enumerate(prompts, first), worker, None, window.concurrency)
                    group.create_task(_work(client, dealt if client.virtual else queue, sampling, window))
        except BaseExceptionGroup as group_error:
            raise _first_cause(group_error) from None
    exchanges = tuple(exchange for _, exchange in sorted(window.exchanges, key=lambda item: item[0]))
    ended = max((exchange.ended for exchange in exchanges), default=0.0)
    return Load(window.concurrency, exchanges, (window.begin, window.end), ended, percentile(lags, 99) * 1000)


async def _work(
    client: Client, queue: Iterator[tuple[int, Prompt]], sampling: Sampling, window: _Window
) -> None:
    clock = 0.0 if client.virtual else None
    started = False
    for number, prompt in queue:
        if not started:
            started = True
            window.sending += 1
            if window.sending == window.concurrency:
                window.begin = time.perf_counter() if clock is None else 0.0
        exchange = await client.generate(
            prompt, sampling, number, clock=clock, virtual_batch=window.concurrency
        )
        window.exchanges.append((number, exchange))
        clock = exchange.ended if clock is not None else None
    window.end = min(window.end, time.perf_counter() if clock is None else clock)


@contextlib.asynccontextmanager
async def _lag_probe() -> AsyncIterator[list[float]]:
    """Seconds by which the event loop woke too late, sampled while the block runs."""
    lags: list[float] = []

    async def probe() -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(LAG_PROBE_S)
            lags.append(max(0.0, time.perf_counter() - begun - LAG_PROBE_S))

    task = asyncio.create_task(probe())
    try:
        yield lags
    finally:
        task.cancel()


def _first_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
