"""The stand-in's HTTP side: SGLang's paths and answers."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eaglecfg.tune.standin.faults import Faults
from eaglecfg.tune.standin.model import STOP_EVERY, Model
from eaglecfg.tune.standin.nccl_lines import nccl_lines
from eaglecfg.tune.standin.settings import Settings, read_settings

VERSION = "0.5.14"
"""The engine version whose answers are imitated."""


class Engine:
    """Generates for all connections."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.faults = Faults(settings)
        self.model = Model(settings)
        if self.faults.has("wrong"):
            self.model.wrong_from = int(self.faults.amount("wrong", 0))
        self.virtual = bool(settings.flags.get("virtual_clock"))
        self.scale = 0.0 if self.virtual else settings.number("time_scale", 1.0)
        self.lock = threading.Lock()
        self.active = 0
        self.cached: set[tuple[int, ...]] = set()
        self.served = 0

    def info(self) -> dict[str, Any]:
        """What /server_info says."""
        steps = self.model.num_steps
        shape = {
            "speculative_num_steps": steps or None,
            "speculative_eagle_topk": 1 if steps else None,
            "speculative_num_draft_tokens": steps + 1 if steps else None,
        }
        state = {"avg_spec_accept_length": None, "last_gen_throughput": None}
        return {
            **self.settings.flags,
            **shape,
            "internal_states": [state],
            "version": VERSION,
            "virtual_clock": self.virtual,
        }

    def generate(self, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Chunks of one answer, each with everything so far, as SGLang streams them."""
        prompt = request.get("input_ids") or list(str(request.get("text") or "").encode())
        sampling = request.get("sampling_params") or {}
        limit = int(sampling.get("max_new_tokens", 128))
        answer = Answer(self.model.num_steps, prompt, limit, ignore_eos=bool(sampling.get("ignore_eos")))
        answer.increments = bool(self.settings.flags.get("stream_output"))
        if self.faults.has("truncate"):
            answer.limit = max(1, limit // 2)
        with self.lock:
            self.active += 1
            self.served += 1
            answer.number = self.served
            answer.cached = len(prompt) if tuple(prompt) in self.cached else 0
            self.cached.add(tuple(prompt))
        try:
            yield from self.run(answer, request.get("virtual") or {})
        finally:
            with self.lock:
                self.active -= 1

    def run(self, answer: Answer, virtual: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Prefill, then steps, each at its time."""
        begun = time.monotonic()
        elapsed = self.model.prefill_seconds(len(answer.prompt), answer.cached)
        answer.add([next(self.model.tokens(answer.prompt))], elapsed)
        steps = self.model.steps(answer.prompt)
        sent = 0
        while True:
            self.wait(begun + elapsed * self.scale)
            finished = answer.finish_reason() is not None
            if finished and self.faults.has("abort"):
                answer.aborted = True
            yield answer.chunk(virtual=self.virtual)
            self.faults.generated(len(answer.ids) - sent)
            sent = len(answer.ids)
            if finished:
                return
            step = next(steps)
            elapsed += self.model.step_seconds(int(virtual.get("batch") or self.active))
            answer.verified(step.correct)
            answer.add(step.tokens, elapsed)

    def wait(self, until: float) -> None:
        """Sleep to a point of time, so that the delays of single sleeps don't add up."""
        remaining = until - time.monotonic()
        if self.scale and remaining > 0:
            time.sleep(remaining)

    def flush(self) -> bool:
        """Empty the prefix cache, unless something runs."""
        with self.lock:
            if self.active:
                return False
            self.cached.clear()
            return True


class Answer:
    """One answer as it grows."""

    def __init__(self, num_steps: int, prompt: Sequence[int], limit: int, *, ignore_eos: bool) -> None:
        self.num_steps, self.prompt, self.limit, self.ignore_eos = num_steps, prompt, limit, ignore_eos
        self.ids: list[int] = []
        self.histogram = [0] * (num_steps + 1)
        self.elapsed = 0.0
        self.cached = 0
        self.number = 0
        self.aborted = False
        self.increments = False
        self.told = 0

    def verified(self, correct: int) -> None:
        """Count a step."""
        self.histogram[correct] += 1

    def add(self, tokens: Sequence[int], elapsed: float) -> None:
        """Take in tokens up to the limit, or to the end of the answer."""
        self.elapsed = elapsed
        for token in tokens:
            if len(self.ids) < self.limit and not self.stopped():
                self.ids.append(token)

    def stopped(self) -> bool:
        """Whether the last token ends the answer."""
        return bool(self.ids) and not self.ignore_eos and self.ids[-1] % STOP_EVERY == 0

    def finish_reason(self) -> dict[str, Any] | None:
        """SGLang's finish_reason; None while it goes on."""
        if self.aborted:
            return {"type": "abort", "message": "the request was aborted", "status_code": 500}
        if self.stopped():
            return {"type": "stop", "matched": self.ids[-1]}
        return {"type": "length", "length": self.limit} if len(self.ids) >= self.limit else None

    def chunk(self, *, virtual: bool) -> dict[str, Any]:
        """Everything so far."""
        meta: dict[str, Any] = {
            "id": f"{self.number:032x}",
            "finish_reason": self.finish_reason(),
            "prompt_tokens": len(self.prompt),
            "completion_tokens": len(self.ids),
            "cached_tokens": self.cached,
        }
        verify = sum(self.histogram)
        if self.num_steps and verify:
            correct = sum(count * place for place, count in enumerate(self.histogram))
            proposed = verify * self.num_steps
            meta |= {
                "spec_accept_rate": correct / proposed,
                "spec_accept_length": len(self.ids) / verify,
                "spec_num_correct_drafts": correct,
                "spec_num_proposed_drafts": proposed,
                "spec_verify_ct": verify,
                "spec_correct_drafts_histogram": self.histogram,
            }
        if virtual:
            meta["virtual_time"] = round(self.elapsed, 9)
        new = self.ids[self.told :] if self.increments else self.ids
        self.told = len(self.ids)
        return {"text": "".join(f" {token}" for token in new), "output_ids": new, "meta_info": meta}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Health, information, flush."""
        engine = self.server.engine
        if self.path in ("/health", "/health_generate", "/ping"):
            self.reply(200, b"", "text/plain")
        elif self.path in ("/server_info", "/get_server_info"):
            self.reply(200, json.dumps(engine.info()).encode())
        elif self.path == "/flush_cache":
            engine.faults.flushed()
            done = engine.flush()
            self.reply(
                200 if done else 400, b"Cache flushed.\n" if done else b"Flush cache failed.\n", "text/plain"
            )
        else:
            self.reply(404, b'{"detail": "Not Found"}')

    def do_POST(self) -> None:
        """Generation; anything else as with GET."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/generate":
            self.do_GET()
            return
        faults = self.server.engine.faults
        while faults.has("deaf"):
            time.sleep(1)
        try:
            request = json.loads(body)
        except ValueError:
            request = None
        if faults.within("break"):
            self.close_connection = True
        elif faults.within("busy") or faults.within("fail"):
            self.reply(503 if faults.has("busy") else 500, b'{"error": {"message": "not now"}}')
        elif not isinstance(request, dict) or not (request.get("input_ids") or request.get("text")):
            self.reply(400, b'{"error": {"message": "expected input_ids or text"}}')
        elif faults.has("reject"):
            self.reply(400, b'{"error": {"message": "rejected"}}')
        elif faults.has("garbage"):
            self.reply(200, b"data: <html>Bad gateway</html>\n\n", "text/event-stream")
        elif request.get("stream"):
            self.stream(request)
        else:
            *_, last = self.server.engine.generate(request)
            self.reply(200, json.dumps(last).encode())

    def stream(self, request: Mapping[str, Any]) -> None:
        """Server-sent events, chunked."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for chunk in self.server.engine.generate(request):
                self.event(json.dumps(chunk).encode())
            self.event(b"[DONE]")
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            self.close_connection = True

    def event(self, data: bytes) -> None:
        """One event as one HTTP chunk."""
        line = b"data: " + data + b"\n\n"
        self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))

    def reply(self, status: int, body: bytes, kind: str = "application/json") -> None:
        """A whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """SGLang's log is quiet about single requests, and so is this one."""


class Server(ThreadingHTTPServer):
    """Holds the engine for its handlers."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        super().__init__(("127.0.0.1", engine.settings.port), Handler)

    def service_actions(self) -> None:
        """Called between connections and twice a second."""
        self.engine.faults.tick()


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until ended by a signal."""
    engine = Engine(read_settings(arguments, environment))
    engine.faults.at_start()
    ranks = int(engine.settings.number("tp_size", 1))
    lost = engine.faults.argument("nccl-lost").split(",")
    for line in nccl_lines(environment, ranks, os.getpid(), lost):
        print(line, file=sys.stdout, flush=True)  # noqa: T201 - NCCL writes to standard output
    with Server(engine) as server:
        server.serve_forever(poll_interval=0.1)
    return 0
