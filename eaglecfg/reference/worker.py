"""The one thread that decodes: requests wait in line, up to a number of them take turns, a step each."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from eaglecfg.reference.decode import Decoder, Generation
from eaglecfg.reference.request import Ask

Decode = Callable[[list[int]], str]


@dataclass(slots=True)
class Ticket:
    """One prompt on its way. ``answers`` gets a chunk a step, the last with a finish reason, or an error."""

    ask: Ask
    every_step: bool
    created: float = field(default_factory=time.monotonic)
    answers: queue.SimpleQueue[dict[str, Any] | Exception] = field(default_factory=queue.SimpleQueue)
    cancelled: bool = False


@dataclass(slots=True)
class Totals:
    """Sums since the start or the last flush."""

    verify_steps: int = 0
    correct_drafts: int = 0
    last_throughput: float = 0.0

    @property
    def accept_length(self) -> float | None:
        """Tokens a verify step, the bonus token counted; None before the first."""
        return 1 + self.correct_drafts / self.verify_steps if self.verify_steps else None


class Worker:
    """Owns the decoder; every other thread only submits tickets and reads ``totals``."""

    def __init__(self, decoder: Decoder, width: int, text_of: Decode | None) -> None:
        self.totals = Totals()
        self._decoder = decoder
        self._width = width
        self._text_of = text_of
        self._waiting: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self._busy = 0
        self._lock = threading.Lock()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="decode", daemon=True)

    def start(self) -> None:
        """Start decoding."""
        self._thread.start()

    def stop(self) -> None:
        """End after the step in hand; what is unfinished stays unfinished."""
        self._stopping = True
        self._waiting.put(None)
        self._thread.join(timeout=5)

    def submit(self, ticket: Ticket) -> None:
        """Put a prompt in line."""
        with self._lock:
            self._busy += 1
        self._waiting.put(ticket)

    def flush(self) -> bool:
        """Forget the sums. False while anything runs or waits, as SGLang refuses to flush then."""
        with self._lock:
            if self._busy:
                return False
            self.totals = Totals()
            return True

    def _run(self) -> None:
        active: list[tuple[Ticket, Generation]] = []
        while not self._stopping:
            self._admit(active)
            for ticket, generation in list(active):
                if self._stopping or not self._advance(ticket, generation):
                    active.remove((ticket, generation))

    def _admit(self, active: list[tuple[Ticket, Generation]]) -> None:
        while len(active) < self._width:
            try:
                ticket = self._waiting.get(block=not active)
            except queue.Empty:
                return
            if ticket is None:
                return
            ask = ticket.ask
            active.append((ticket, Generation(self._decoder, ask.prompt, ask.max_new_tokens, ask.stop_ids)))

    def _advance(self, ticket: Ticket, generation: Generation) -> bool:
        """One step; False when the request is over."""
        try:
            if not ticket.cancelled:
                generation.step()
            over = ticket.cancelled or generation.finish is not None
            answer = self._answer(ticket, generation) if over or ticket.every_step else None
        except Exception as error:  # one broken request must not end the server
            self._finish(generation, ticket)
            ticket.answers.put(error)
            return False
        if over:
            self._finish(generation, ticket)
        if answer is not None:
            ticket.answers.put(answer)
        return not over

    def _finish(self, generation: Generation, ticket: Ticket) -> None:
        with self._lock:
            self._busy -= 1
            self.totals.verify_steps += generation.counters.verify_steps
            self.totals.correct_drafts += generation.counters.correct_drafts
            self.totals.last_throughput = len(generation.output) / max(
                1e-9, time.monotonic() - ticket.created
            )

    def _answer(self, ticket: Ticket, generation: Generation) -> dict[str, Any]:
        """One chunk, all tokens so far, as sglang 0.5.14 words it (``srt/managers/tokenizer_manager.py``)."""
        finish = generation.finish
        reason: dict[str, Any] | None = None
        if finish is not None:
            reason = {"type": finish.kind, "length" if finish.kind == "length" else "matched": finish.value}
        meta: dict[str, Any] = {
            "id": ticket.ask.id,
            "finish_reason": reason,
            "prompt_tokens": len(ticket.ask.prompt),
            "weight_version": "default",
            "num_retractions": 0,
            "reasoning_tokens": 0,
            "completion_tokens": len(generation.output),
            "cached_tokens": 0,
        }
        if reason is not None:
            meta["e2e_latency"] = time.monotonic() - ticket.created
            meta |= self._speculation(generation)
        answer: dict[str, Any] = {"output_ids": list(generation.output), "meta_info": meta}
        return answer if self._text_of is None else {"text": self._text_of(generation.output), **answer}

    def _speculation(self, generation: Generation) -> dict[str, Any]:
        counters = generation.counters
        if self._decoder.draft is None or not counters.verify_steps:
            return {}
        proposed = counters.verify_steps * self._decoder.num_steps
        return {
            "spec_accept_rate": counters.correct_drafts / proposed,
            # As the engine has it: over all tokens, the prefill's counted and what the limit cut off not.
            "spec_accept_length": len(generation.output) / counters.verify_steps,
            "spec_num_correct_drafts": counters.correct_drafts,
            "spec_num_proposed_drafts": proposed,
            "spec_verify_ct": counters.verify_steps,
            "spec_accepted_drafts": counters.correct_drafts,
            "spec_proposed_drafts": proposed,
            "spec_correct_drafts_histogram": list(counters.histogram),
            "spec_accept_histogram": list(counters.histogram),
        }
