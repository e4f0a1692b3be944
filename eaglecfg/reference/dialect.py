"""The HTTP side: SGLang's paths and answers over one worker, with the standard library's server."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eaglecfg import __version__
from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.flags import Settings
from eaglecfg.reference.request import Asked, Limits, read_request
from eaglecfg.reference.wiring import Wiring
from eaglecfg.reference.worker import Ticket, Worker

LARGEST_BODY = 64 << 20
HEALTH_S = 20.0


@dataclass(frozen=True, slots=True)
class Engine:
    """What answers need once the models are loaded. ``encode`` is None without a tokenizer."""

    worker: Worker
    limits: Limits
    wiring: Wiring | None
    dtype: str
    encode: Callable[[str], Sequence[int]] | None


class Server(ThreadingHTTPServer):
    """Listens from the start and answers 503 until ``engine`` is there."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine: Engine | None = None
        super().__init__((settings.host, settings.port), Handler)

    def describe(self, engine: Engine) -> dict[str, Any]:
        """What /server_info says: the flags that run by SGLang's names, and how the draft is really wired."""
        settings, wiring, totals = self.settings, engine.wiring, engine.worker.totals
        spec = settings.num_steps if settings.algorithm else None
        state: dict[str, Any] = {
            "last_gen_throughput": totals.last_throughput,
            "effective_max_running_requests_per_dp": settings.max_running_requests,
        }
        if totals.accept_length is not None:
            state["avg_spec_accept_length"] = totals.accept_length
        return {
            **settings.given,
            "model_path": str(settings.model_path),
            "speculative_draft_model_path": str(settings.draft_path) if settings.draft_path else None,
            "speculative_algorithm": settings.algorithm,
            "speculative_num_steps": spec,
            "speculative_eagle_topk": 1 if spec else None,
            "speculative_num_draft_tokens": spec + 1 if spec else None,
            "host": settings.host,
            "port": self.server_address[1],
            "dtype": engine.dtype,
            "device": settings.device,
            "tp_size": 1,
            "max_running_requests": settings.max_running_requests,
            "skip_tokenizer_init": engine.encode is None,
            "context_length": engine.limits.context,
            "internal_states": [state],
            "version": settings.version,
            "reference": {
                "eaglecfg": __version__,
                "threads": settings.threads,
                "ignored": list(settings.ignored),
                "boundaries": list(wiring.boundaries) if wiring else None,
                "fc_order": list(wiring.fc_order) if wiring and wiring.fc_order else None,
                "d2t": wiring.use_d2t if wiring else None,
                "fc": wiring.use_fc if wiring else None,
            },
        }


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """No line a request: under load the log would cost as much as decoding."""

    def do_GET(self) -> None:
        """Health, information, flush."""
        path = self.path.split("?", 1)[0]
        engine = self.server.engine
        if engine is None:
            self._send(503, b"", "text/plain")
        elif path in ("/health", "/ping"):
            self._send(200, b"", "text/plain")
        elif path == "/health_generate":
            self._send(200 if self._alive(engine) else 503, b"", "text/plain")
        elif path in ("/server_info", "/get_server_info"):
            self._send_json(200, self.server.describe(engine))
        elif path in ("/model_info", "/get_model_info"):
            model = str(self.server.settings.model_path)
            self._send_json(200, {"model_path": model, "tokenizer_path": model, "is_generation": True})
        elif path == "/flush_cache":
            self._flush(engine)
        else:
            self._send_json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        """Generation and flush."""
        try:
            body = self._body()
        except ReferenceFailure as failure:
            self._refuse(failure)
            return
        engine = self.server.engine
        path = self.path.split("?", 1)[0]
        if engine is None:
            self._send(503, b"", "text/plain")
        elif path == "/flush_cache":
            self._flush(engine)
        elif path == "/generate":
            self._generate(engine, body)
        else:
            self._send_json(404, {"detail": "Not Found"})

    do_PUT = do_POST

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            self.close_connection = True
            raise ReferenceFailure(f"Content-Length: expected at most {LARGEST_BODY}, got {length[:40]}")
        return self.rfile.read(int(length))

    def _flush(self, engine: Engine) -> None:
        done = engine.worker.flush()
        text = b"Cache flushed.\n" if done else b"Flush cache failed: requests are running or waiting.\n"
        self._send(200 if done else 400, text, "text/plain; charset=utf-8")

    def _alive(self, engine: Engine) -> bool:
        body = {"input_ids": [0], "sampling_params": {"max_new_tokens": 1}}
        asked = read_request(body, engine.limits, None)
        ticket = Ticket(asked.asks[0], every_step=False)
        engine.worker.submit(ticket)
        try:
            return isinstance(ticket.answers.get(timeout=HEALTH_S), dict)
        except queue.Empty:
            ticket.cancelled = True
            return False

    def _generate(self, engine: Engine, body: bytes) -> None:
        try:
            try:
                parsed = json.loads(body)
            except ValueError as error:
                raise ReferenceFailure(f"the body is not JSON: {error}") from error
            asked = read_request(parsed, engine.limits, engine.encode)
        except ReferenceFailure as failure:
            self._refuse(failure)
            return
        tickets = [Ticket(ask, every_step=asked.stream) for ask in asked.asks]
        for ticket in tickets:
            engine.worker.submit(ticket)
        try:
            if asked.stream:
                self._stream(asked, tickets)
            else:
                self._whole(asked, tickets)
        except OSError:  # the client went away
            self.close_connection = True
        finally:
            for ticket in tickets:
                ticket.cancelled = True

    def _whole(self, asked: Asked, tickets: list[Ticket]) -> None:
        answers = []
        for ticket in tickets:
            answer = ticket.answers.get()
            if isinstance(answer, Exception):
                self._send_json(500, {"error": {"message": f"{type(answer).__name__}: {answer}"}})
                return
            answers.append(answer)
        self._send_json(200, answers if asked.batch else answers[0])

    def _stream(self, asked: Asked, tickets: list[Ticket]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in _events(asked, tickets):
            self._chunk(b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n")
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _refuse(self, failure: ReferenceFailure) -> None:
        self._send_json(400, {"error": {"message": str(failure)}})

    def _send_json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value, separators=(",", ":")).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True


def _events(asked: Asked, tickets: list[Ticket]) -> Iterator[dict[str, Any]]:
    """Chunks as they come, prompt after prompt within one round; ``index`` names the prompt in a batch."""
    open_tickets = list(tickets)
    while open_tickets:
        for ticket in list(open_tickets):
            answer = ticket.answers.get()
            if isinstance(answer, Exception):
                yield {"error": {"message": f"{type(answer).__name__}: {answer}", "code": 500}}
                return
            if answer["meta_info"]["finish_reason"] is not None:
                open_tickets.remove(ticket)
            yield {**answer, "index": ticket.ask.index} if asked.batch else answer
