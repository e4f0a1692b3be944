"""Servers for the live check: scripted ones in a thread, real ones in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from eaglecfg.machine.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Hands every request to the script of its server."""

    server: Scripted
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.body = json.loads(body) if body else None
        answer = self.server.script.get(self.path)
        if answer is None:
            self.send(404, b'{"detail": "Not Found"}')
        else:
            with suppress(OSError):
                answer(self)

    do_POST = do_GET

    def send(self, status: int, body: bytes, kind: str = "application/json", **head: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in head.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, value: Any, status: int = 200) -> None:
        self.send(status, json.dumps(value).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


class Scripted(ThreadingHTTPServer):
    """A server that answers each path as its script says, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self, script: Mapping[str, Answer]) -> None:
        self.script = script
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def scripted(script: Mapping[str, Answer]) -> Iterator[Scripted]:
    """Run a scripted server."""
    with Scripted(script) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def info(**settings: Any) -> Answer:
    """The answer of /server_info."""
    return lambda handler: handler.send_json(settings)


def generation(correct: int = 60, steps: int = 40, **meta: Any) -> Answer:
    """An answer of /generate in which ``steps`` verify steps accepted ``correct`` drafts."""

    def answer(handler: Handler) -> None:
        tokens = handler.body["sampling_params"]["max_new_tokens"]
        counters = {"spec_verify_ct": steps, "spec_num_correct_drafts": correct}
        base = {"completion_tokens": tokens, "finish_reason": {"type": "length", "length": tokens}}
        handler.send_json({"text": "", "meta_info": {**base, **counters, **meta}})

    return answer


class Process:
    """A server of ours in a process of its own."""

    def __init__(self, module: str, *flags: str) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", module, *flags, "--host", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait(self) -> None:
        """Until it is healthy."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            assert self.process.poll() is None, self.stop()
            with (
                suppress(OSError, urllib.error.HTTPError),
                urllib.request.urlopen(f"{self.url}/health", timeout=5),
            ):
                return
            time.sleep(0.05)
        raise AssertionError(self.stop())

    def stop(self) -> bytes:
        """End it; returns its log."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.communicate(timeout=20)[1]
