"""A bounded HTTP client of the standard library: no redirects, no proxies, limits on time and size."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead, RemoteDisconnected
from typing import Any
from urllib.parse import SplitResult, urlsplit

from eaglecfg.errors import UsageError

CONNECT_S = 10.0
"""How long a connection may take, and a silence between two pieces of an answer of /server_info."""

PIECE = 64 << 10


class Unanswered(Exception):
    """No answer that could be used. ``help`` says what to do about it."""

    def __init__(self, reason: str, help: str = "") -> None:
        super().__init__(reason)
        self.help = help


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point of time on the monotonic clock, after which nothing is waited for."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds until then; raises Unanswered where none are left."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise Unanswered("the time for this check is over", "allow more with --live-seconds")
        return left


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is. ``path`` stands before every path, without a slash at its end."""

    secure: bool
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"

    @property
    def loopback(self) -> bool:
        """Whether the server is on this machine, as far as its name tells."""
        return self.host == "localhost" or self.host == "::1" or self.host.startswith("127.")


def parse_address(url: str) -> Address:
    """The address in ``url``: ``http://host:port``, ``https://host/path`` or ``host:port``.

    Raises UsageError; what the URL holds beside host, port and path is not repeated, as it may be a secret.
    """
    if not url.strip().isprintable():
        raise UsageError("--live takes the URL of a server, such as http://127.0.0.1:30000")
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "--live takes a URL without a password in it; name the variable that holds a key with --live-key"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("--live takes the URL of a server, such as http://127.0.0.1:30000")
    if parts.query or parts.fragment:
        raise UsageError("--live takes the URL of a server alone, without ? and #")
    text = f"{parts.hostname}{parts.path}"
    if not text.isascii() or not text.isprintable() or " " in text:
        raise UsageError("--live takes a URL of plain ASCII characters; write the host's name in punycode")
    secure = parts.scheme == "https"
    port = parts.port if parts.port is not None else (443 if secure else 80)
    return Address(secure, parts.hostname, port, parts.path.rstrip("/"))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip() if "://" in url else f"http://{url.strip()}")
        _ = parts.port  # raises for what is no port
    except ValueError:
        raise UsageError("--live takes the URL of a server, such as http://127.0.0.1:30000") from None
    return parts


@dataclass(frozen=True, slots=True)
class Server:
    """One server, and the key that it wants. Each request has a connection of its own."""

    address: Address
    key: str = ""

    def ask(
        self, path: str, deadline: Deadline, most: int, body: Any = None, *, silence: float = CONNECT_S
    ) -> tuple[int, bytes]:
        """Status and body of a GET, or of a POST where there is a ``body``.

        ``most`` bytes are read, ``silence`` seconds waited for the next of them. Raises Unanswered.
        """
        connection = self._connection(min(CONNECT_S, deadline.left))
        head = {"Accept": "application/json", "User-Agent": "eaglecfg"}
        if self.key:
            head["Authorization"] = f"Bearer {self.key}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            head["Content-Type"] = "application/json"
        watch = None
        try:
            connection.connect()
            wire = connection.sock
            wire.settimeout(min(silence, deadline.left))
            # Whoever sends a byte now and then outwaits every timeout of the socket, but not this one.
            watch = threading.Timer(deadline.left, _hang_up, (wire,))
            watch.daemon = True
            watch.start()
            connection.request("GET" if data is None else "POST", self.address.path + path, data, head)
            response = connection.getresponse()
            pieces, size = [], 0
            while piece := response.read1(PIECE):
                size += len(piece)
                if size > most:
                    raise Unanswered(f"{path} answers with more than {most >> 20} MiB")
                pieces.append(piece)
            _ = deadline.left
            return response.status, b"".join(pieces)
        except TimeoutError:
            _ = deadline.left
            raise Unanswered(f"{path} gave no answer in time") from None
        except (OSError, HTTPException) as error:
            _ = deadline.left
            raise Unanswered(_words(error), "is it started, and is this its port?") from None
        finally:
            if watch is not None:
                watch.cancel()
            connection.close()

    def _connection(self, timeout: float) -> HTTPConnection:
        address = self.address
        if not address.secure:
            return HTTPConnection(address.host, address.port, timeout=timeout)
        import ssl

        return HTTPSConnection(
            address.host, address.port, timeout=timeout, context=ssl.create_default_context()
        )


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def parsed(body: bytes) -> Any:
    """The JSON in ``body``; None for anything else."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _words(error: OSError | HTTPException) -> str:
    """An error in a few words, without what the other side put into it."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, RemoteDisconnected | IncompleteRead):
        return "it closed the connection without a whole answer"
    if isinstance(error, HTTPException):
        return f"it does not speak HTTP here ({type(error).__name__})"
    return (error.strerror or str(error) or type(error).__name__).lower()
