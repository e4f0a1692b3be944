"""One server in SGLang's HTTP dialect, as the load generator talks to it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eaglecfg.tune.pulse import Pulse
from eaglecfg.tune.trial import Prompt

if TYPE_CHECKING:
    import aiohttp

COMPLETION = re.compile(rb'"completion_tokens":\s*(\d+)')
"""Finds the count in a chunk without parsing it: chunks repeat the whole text so far, and parsing all of
them would make the client the bottleneck. A quote inside generated text is escaped, so that text cannot
match."""
VIRTUAL_TIME = re.compile(rb'"virtual_time":\s*([0-9.]+)')
INFO_PATHS = ("/server_info", "/get_server_info")  # the latter alone up to 0.5.5.post3
SHORT_S = 4.5
"""Limit for requests that need no generation. From 5 s on aiohttp rounds it up to whole seconds of its clock.
"""
UNANSWERED = 0
"""Stands for a status where none came within the limit."""


class Unanswered(Exception):
    """The server could not be asked: refused, reset, or no HTTP. Whether it died is for the caller to find
    out."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How each request is to be generated. ``seed`` is sent only where sampling is random."""

    max_new_tokens: int
    temperature: float = 0.0
    ignore_eos: bool = True
    seed: int = 0

    def as_json(self, number: int) -> dict[str, Any]:
        """SGLang's sampling_params for request ``number`` of the load."""
        params: dict[str, Any] = {
            "temperature": self.temperature,
            "max_new_tokens": self.max_new_tokens,
            "ignore_eos": self.ignore_eos,
        }
        return params if self.temperature == 0 else {**params, "sampling_seed": self.seed + number}


@dataclass(slots=True)
class Exchange:
    """One request and its answer. Times in seconds on the clock of the load; ``arrivals`` are (time, tokens
    so far)."""

    prompt: str
    sent: float
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    ended: float = 0.0
    meta: Mapping[str, Any] = field(default_factory=dict)
    output_ids: tuple[int, ...] = ()
    text: str = ""
    error: str = ""

    @property
    def tokens(self) -> int:
        """Tokens generated."""
        return self.arrivals[-1][1] if self.arrivals else 0

    @property
    def finish(self) -> str:
        """Why generation ended: length, stop, abort; empty when unknown."""
        reason = self.meta.get("finish_reason")
        return str(reason.get("type", "")) if isinstance(reason, Mapping) else str(reason or "")


class Client:
    """Talks to one server. ``virtual`` takes times from the server's answers, as the stand-in can give
    them."""

    def __init__(self, session: aiohttp.ClientSession, port: int, pulse: Pulse) -> None:
        self._session = session
        self._base = f"http://127.0.0.1:{port}"
        self._pulse = pulse
        self.virtual = False

    async def healthy(self) -> bool:
        """Whether /health says so; a server without /health counts as healthy."""
        status, _ = await self._get("/health")
        return status in (200, 404)

    async def server_info(self) -> dict[str, Any]:
        """What the server says about itself; empty when it has nothing to say."""
        for path in INFO_PATHS:
            status, body = await self._get(path)
            if status == 200:
                try:
                    info = json.loads(body)
                except ValueError:
                    return {}
                return info if isinstance(info, dict) else {}
        return {}

    async def flush_cache(self) -> bool:
        """Empty the prefix cache. SGLang refuses while a request is still being retired, so ask for a
        while; one that does not answer at all is not asked again, as the next request tells whether it
        hangs."""
        import asyncio

        for _ in range(30):
            status, _ = await self._get("/flush_cache", method="POST")
            if status == 200:
                return True
            if status in (UNANSWERED, 404, 405):
                return False
            await asyncio.sleep(0.1)
        return False

    async def generate(
        self,
        prompt: Prompt,
        sampling: Sampling,
        number: int = 0,
        *,
        clock: float | None = None,
        virtual_batch: int = 1,
        keep_ids: bool = False,
    ) -> Exchange:
        """Generate once, streaming. Raises Unanswered when the connection fails; a refusal is
        ``Exchange.error``.

        ``clock`` is the virtual time at which the request is sent (None: the real clock).
        """
        import aiohttp

        body: dict[str, Any] = {"sampling_params": sampling.as_json(number), "stream": True}
        if prompt.input_ids is not None:
            body["input_ids"] = list(prompt.input_ids)
        else:
            body["text"] = prompt.text
        if clock is not None:
            body["virtual"] = {"batch": virtual_batch}
        self._pulse.sent()
        exchange = Exchange(prompt.name, time.perf_counter() if clock is None else clock)
        try:
            async with self._session.post(f"{self._base}/generate", json=body) as response:
                if response.status != 200:
                    exchange.error = f"HTTP {response.status}: {(await response.text())[:300]}"
                else:
                    await self._read_stream(response, exchange, virtual=clock is not None, keep_ids=keep_ids)
        except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
            raise Unanswered(f"{type(error).__name__}: {error}") from error
        finally:
            self._pulse.ended(answered=bool(exchange.arrivals))
        if clock is None:
            exchange.ended = time.perf_counter()
        else:
            exchange.ended = exchange.arrivals[-1][0] if exchange.arrivals else clock
        return exchange

    async def _read_stream(
        self, response: aiohttp.ClientResponse, exchange: Exchange, *, virtual: bool, keep_ids: bool
    ) -> None:
        rest = b""
        last = b""
        ids: list[int] = []
        async for piece in response.content.iter_any():
            now = time.perf_counter()
            *events, rest = (rest + piece).split(b"\n\n")
            for event in events:
                data = event.removeprefix(b"data:").strip()
                if not data or data == b"[DONE]":
                    continue
                last = data
                self._note_tokens(exchange, data, now, virtual=virtual)
                if keep_ids:
                    ids = join_ids(ids, json.loads(data).get("output_ids") or [])
        finish(exchange, last)
        if keep_ids:
            exchange.output_ids = tuple(ids)

    def _note_tokens(self, exchange: Exchange, data: bytes, now: float, *, virtual: bool) -> None:
        match = COMPLETION.search(data)
        count = int(match[1]) if match else 0
        if count <= exchange.tokens:
            return
        if virtual and (stamp := VIRTUAL_TIME.search(data)):
            now = exchange.sent + float(stamp[1])
        if exchange.arrivals:
            self._pulse.token(now - exchange.arrivals[-1][0], None)
        else:
            self._pulse.token(None, now - exchange.sent)
        exchange.arrivals.append((now, count))

    async def _get(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=SHORT_S)
        try:
            async with self._session.request(method, self._base + path, timeout=timeout) as response:
                return response.status, await response.read()
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            return UNANSWERED, b""


def join_ids(so_far: list[int], chunk: list[int]) -> list[int]:
    """Token ids after one more chunk; chunks repeat everything unless the server streams increments."""
    cumulative = len(chunk) >= len(so_far) and chunk[: len(so_far)] == so_far
    return chunk if cumulative and so_far else so_far + chunk


def whole_ids(given: Any, tokens: int) -> tuple[int, ...]:
    """The ids of an answer by its last chunk; empty where a server sends increments, or no ids."""
    if not isinstance(given, list) or len(given) < tokens or not all(type(one) is int for one in given):
        return ()
    return tuple(given)


def finish(exchange: Exchange, last: bytes) -> None:
    """Take the final chunk apart."""
    try:
        answer = json.loads(last) if last else {}
    except ValueError:
        exchange.error = f"not JSON: {last[:200]!r}"
        return
    if not isinstance(answer, dict):
        exchange.error = f"not an object: {last[:200]!r}"
        return
    if "error" in answer:
        error = answer["error"]
        exchange.error = str(error.get("message", error) if isinstance(error, dict) else error)
        return
    meta = answer.get("meta_info")
    exchange.meta = meta if isinstance(meta, dict) else {}
    exchange.text = str(answer.get("text") or "")
    exchange.output_ids = whole_ids(answer.get("output_ids"), exchange.tokens)
    if not exchange.meta:
        exchange.error = "the answer ended without meta_info"
    elif exchange.finish == "abort":
        reason = exchange.meta["finish_reason"]
        words = reason.get("message") if isinstance(reason, dict) else None
        exchange.error = f"aborted: {words or 'no reason given'}"
    elif not exchange.finish:
        exchange.error = "the answer ended in the middle"
