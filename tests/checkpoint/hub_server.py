"""A hub on the loopback interface: the answers that reading headers needs, and ways to misbehave."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

COMMIT = "89abcdef0123456789abcdef0123456789abcdef"


class Asked(NamedTuple):
    """One request: path, headers with lower-case names, and the bytes of body that were answered."""

    path: str
    headers: dict[str, str]
    status: int
    sent: int


@dataclass
class Hub:
    """What the server serves: one model, ``lab/model``. Change the fields between requests.

    ``misbehave`` may answer a request itself: it gets the handler and the path and returns True where it did.
    ``storage`` is the address of another server to which weight files are redirected.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=lambda: {"main": COMMIT})
    token: str = ""
    storage: str = ""
    sizes_listed: bool = True
    misbehave: Callable[[Handler, str], bool] | None = None
    asked: list[Asked] = field(default_factory=list)
    address: str = ""

    def listing(self, commit: str) -> dict[str, Any]:
        """The answer about one revision, as the hub's API gives it with ``blobs=true``."""
        siblings: list[dict[str, Any]] = []
        for name, content in self.files.items():
            item: dict[str, Any] = {"rfilename": name}
            if self.sizes_listed:
                item |= {"size": len(content), "blobId": hashlib.sha1(content).hexdigest()}
                if name.endswith((".safetensors", ".bin")):
                    sha256 = hashlib.sha256(content).hexdigest()
                    item["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 134}
            siblings.append(item)
        return {"id": "lab/model", "sha": commit, "siblings": siblings}

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_GET(self) -> None:
        hub, path = self.server.hub, unquote(urlsplit(self.path).path)
        if hub.misbehave is not None and hub.misbehave(self, path):
            return
        if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
            self.answer(401, b'{"error": "no access"}', {"X-Error-Code": "GatedRepo"})
        elif found := re.fullmatch(r"/api/models/lab/model/revision/(.+)", path):
            self._api(found[1])
        elif found := re.fullmatch(r"/lab/model/resolve/([^/]+)/([^/]+)", path):
            self._file(hub.revisions.get(found[1], found[1]), found[2])
        elif found := re.fullmatch(r"/storage/([^/]+)", path):
            self._content(hub.files[found[1]])
        else:
            self.answer(404, b"Not Found", {"X-Error-Code": "RepoNotFound"})

    def do_HEAD(self) -> None:
        """The hub's own library asks so for ETag and commit before it downloads a file."""
        self.do_GET()

    def _api(self, revision: str) -> None:
        hub = self.server.hub
        commit = hub.revisions.get(revision, revision if revision in hub.revisions.values() else None)
        if commit is None:
            self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            return
        body = json.dumps(hub.listing(commit)).encode()
        etag = f'W/"{hashlib.md5(body).hexdigest()}"'
        if self.headers.get("If-None-Match") == etag:
            self.answer(304, b"", {"ETag": etag})
        else:
            self.answer(200, body, {"ETag": etag})

    def _file(self, commit: str, name: str) -> None:
        hub = self.server.hub
        if name not in hub.files or commit not in hub.revisions.values():
            self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        elif hub.storage and name.endswith(".safetensors"):
            self.answer(302, b"Found", {"Location": f"{hub.storage}/storage/{name}"})
        else:
            etag = hashlib.sha256(hub.files[name]).hexdigest()
            self._content(hub.files[name], {"X-Repo-Commit": commit, "ETag": f'"{etag}"'})

    def _content(self, content: bytes, headers: dict[str, str] | None = None) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not asked:
            self.answer(200, content, headers)
        elif int(asked[1]) >= len(content):
            self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        else:
            first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
            where = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
            self.answer(206, content[first : last + 1], where)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send one answer and note it."""
        sent = {name.lower(): value for name, value in self.headers.items()}
        self.server.hub.asked.append(Asked(self.path, sent, status, len(body)))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def drip(self, seconds: float) -> None:
        """Send headers, one byte now and then, and never a body."""
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                self.wfile.write(b"H")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the tests look at ``asked``."""


class Server(ThreadingHTTPServer):
    """Serves one Hub."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, hub: Hub) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hub = hub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that closes early is what some tests are about."""


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve ``hub`` at its ``address`` for as long as the block runs."""
    server = Server(hub)
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
