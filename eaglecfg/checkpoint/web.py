"""Bounded HTTP reads of a hub: whole small files and byte ranges, in time, and never a credential in a text.

The standard library's client, so that ``--online`` works beside whatever version of the hub library an engine
needs. What it leaves open is closed here: a token goes to the hub's own address only, never after a redirect
to another, nor in the clear to another machine; an answer has a greatest length and a last moment.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from eaglecfg.checkpoint.hubid import token_files
from eaglecfg.checkpoint.limits import FETCH_SECONDS, MAX_FETCHED_BYTES

HUB_ADDRESS = "https://huggingface.co"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SECONDS_PER_ANSWER = 10.0
CHUNK = 256 * 1024
MOST_REDIRECTS = 5
AGAIN = (429, 500, 502, 503, 504)
"""Statuses after which one more try may do."""


class WebFault(Exception):
    """Why nothing was fetched: goes on after "the hub", and what to do. ``status`` 0: there was no answer."""

    def __init__(self, why: str, help: str = "", status: int = 0, code: str = "") -> None:
        super().__init__(why)
        self.why, self.help, self.status, self.code = why, help, status, code


class Answer(NamedTuple):
    """Body and headers; ``total`` is the size in bytes of the whole file, where a range was asked for."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    total: int = 0


class Web:
    """One hub, for one checkpoint: it has a budget of bytes and of seconds."""

    def __init__(self, settings: Mapping[str, str], seconds: float = FETCH_SECONDS) -> None:
        """``settings`` is the environment. Raises WebFault for an address that cannot be one."""
        self.address = (settings.get("HF_ENDPOINT") or HUB_ADDRESS).rstrip("/")
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise WebFault("has an address (HF_ENDPOINT) that is not http(s)://host", "correct HF_ENDPOINT")
        self.host = parts.hostname
        self.token, self._why_no_token = _token(settings, parts.scheme, self.host)
        self._opener = _opener(settings, self.host)
        self._timeout = _seconds(settings.get("HF_HUB_DOWNLOAD_TIMEOUT"))
        self._end = time.monotonic() + seconds
        self._left = MAX_FETCHED_BYTES

    def get(self, path: str, limit: int, etag: str = "") -> Answer:
        """The whole file at ``path`` of at most ``limit`` bytes; status 304 where it still is ``etag``."""
        return self._retried(path, {"If-None-Match": etag} if etag else {}, limit, None)

    def range(self, path: str, start: int, length: int) -> Answer:
        """Up to ``length`` bytes from ``start``; fewer only at the end of the file."""
        asked = {"Range": f"bytes={start}-{start + length - 1}"}
        return self._retried(path, asked, length, start)

    def _retried(self, path: str, headers: dict[str, str], limit: int, start: int | None) -> Answer:
        try:
            return self._once(path, headers, limit, start)
        except WebFault as fault:
            if fault.status not in AGAIN and fault.code != "dropped":
                raise
        time.sleep(min(0.5, max(0.0, self._end - time.monotonic())))
        return self._once(path, headers, limit, start)

    def _once(self, path: str, headers: dict[str, str], limit: int, start: int | None) -> Answer:
        request = urllib.request.Request(self.address + path, headers=headers | _PLAIN)
        if self.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        left = self._end - time.monotonic()
        if left <= 0:
            raise WebFault("took too long: the time for one checkpoint is over", "try again")
        try:
            with self._opener.open(request, timeout=min(self._timeout, left)) as answer:
                if start is not None:
                    total = _check_range(answer.status, answer.headers, start, limit)
                    return Answer(answer.status, dict(answer.headers), self._body(answer, limit), total)
                return Answer(answer.status, dict(answer.headers), self._body(answer, limit))
        except urllib.error.HTTPError as error:
            with error:
                return self._other_status(error, start)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise WebFault(*_reason(error, self._timeout), code=_kind(error)) from None

    def _other_status(self, error: urllib.error.HTTPError, start: int | None) -> Answer:
        if error.code == 304:
            return Answer(304, dict(error.headers), b"")
        if error.code == 416 and start is not None:
            total = re.fullmatch(r"bytes \*/(\d{1,19})", error.headers.get("Content-Range", ""))
            if total and int(total[1]) <= start:  # an empty file has no first byte
                return Answer(416, dict(error.headers), b"", int(total[1]))
        raise self._refusal(error.code, error.headers.get("X-Error-Code", ""))

    def _refusal(self, status: int, code: str) -> WebFault:
        if status in (401, 403):
            help = "the token that was given has no access: ask for it on the model's page"
            if not self.token:
                help = self._why_no_token or "set HF_TOKEN, or run `hf auth login`"
            return WebFault(f"refuses access (status {status})", help, status, code)
        if status == 404:
            return WebFault("does not have it (status 404)", "check the spelling", status, code)
        if status == 429:
            return WebFault("wants fewer requests (status 429)", "wait, or set HF_TOKEN", status)
        return WebFault(f"answers with status {status}", "try again later" if status >= 500 else "", status)

    def _body(self, answer: http.client.HTTPResponse, limit: int) -> bytes:
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise WebFault("answers in an encoding that was not asked for")
        parts: list[bytes] = []
        size = 0
        while size <= limit:
            if time.monotonic() > self._end:
                raise WebFault("took too long: the time for one checkpoint is over", "try again")
            part = answer.read1(min(CHUNK, limit + 1 - size))
            if not part:
                break
            parts.append(part)
            size += len(part)
        self._left -= size
        if size > limit:
            raise WebFault(f"sends more than the {limit:,} bytes that are read of this file")
        if self._left < 0:
            raise WebFault(f"sends more than the {MAX_FETCHED_BYTES:,} bytes that are read of one checkpoint")
        announced = answer.headers.get("Content-Length", "")
        if announced.isdecimal() and size < int(announced):
            raise WebFault("dropped the connection within an answer", "try again", code="dropped")
        return b"".join(parts)


_PLAIN = {"Accept-Encoding": "identity", "User-Agent": "eaglecfg"}


def _check_range(status: int, headers: Message, start: int, length: int) -> int:
    """The size of the whole file, once the answer is the range that was asked for and no more."""
    if status != 206:
        raise WebFault(
            f"answers a request for a byte range with status {status}, the whole file",
            "use a hub or mirror that serves ranges, or download the model",
        )
    found = re.fullmatch(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})", headers.get("Content-Range", ""))
    if not found:
        raise WebFault("answers a request for a byte range without saying which bytes it sends")
    first, last, total = (int(number) for number in found.groups())
    if first != start or not first <= last < min(total, start + length):
        raise WebFault("answers a request for a byte range with another range")
    return total


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a few redirects, never from https to http, and gives the token to nobody else."""

    max_redirections = max_repeats = 2 * MOST_REDIRECTS  # never reached

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        fp.close()  # or all of it would be read, however long it is
        scheme, old = urlsplit(newurl).scheme, urlsplit(req.full_url)
        if sum(getattr(req, "redirect_dict", {}).values()) >= MOST_REDIRECTS:
            raise WebFault("sends on and on")
        if scheme not in ("http", "https") or (old.scheme == "https" and scheme == "http"):
            raise WebFault("sends on to an address that is not https")
        # Headers that were added unredirected, the token's, are not in ``req.headers``.
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        token = req.unredirected_hdrs.get("Authorization")
        if new is not None and token and urlsplit(newurl)[:2] == old[:2]:
            new.add_unredirected_header("Authorization", token)
        return new


def _opener(settings: Mapping[str, str], host: str) -> urllib.request.OpenerDirector:
    """http and https only: no file, ftp or data addresses, whatever a redirect says."""
    bundle = settings.get("REQUESTS_CA_BUNDLE") or settings.get("CURL_CA_BUNDLE")
    try:
        context = ssl.create_default_context(cafile=bundle if bundle and Path(bundle).is_file() else None)
    except (OSError, ssl.SSLError):
        raise WebFault("cannot be trusted: REQUESTS_CA_BUNDLE is not a file of certificates") from None
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(_proxies(settings, host)),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        _Redirects(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _proxies(settings: Mapping[str, str], host: str) -> dict[str, str]:
    none = settings.get("no_proxy") or settings.get("NO_PROXY") or ""
    # The stubs know no second argument; it keeps the function from reading the environment itself.
    bypass: Any = urllib.request.proxy_bypass_environment  # type: ignore[attr-defined]
    if host in LOOPBACK or bypass(host, {"no": none}):
        return {}
    names = {scheme: f"{scheme}_proxy" for scheme in ("http", "https")}
    given = {scheme: settings.get(name) or settings.get(name.upper()) for scheme, name in names.items()}
    return {scheme: proxy for scheme, proxy in given.items() if proxy}


def _token(settings: Mapping[str, str], scheme: str, host: str) -> tuple[str, str]:
    """The token to send and, where there is one that is not sent, why."""
    token = settings.get("HF_TOKEN") or settings.get("HUGGING_FACE_HUB_TOKEN") or ""
    where = "HF_TOKEN"
    if not token and not is_true(settings.get("HF_HUB_DISABLE_IMPLICIT_TOKEN")):
        where, path = "the token file", token_files(settings)
        try:
            token = Path(path).read_text(encoding="ascii")[:1000] if path and Path(path).is_file() else ""
        except (OSError, ValueError):
            return "", "the token file cannot be read; set HF_TOKEN"
    token = token.strip()
    if not token:
        return "", ""
    if not re.fullmatch(r"[\x21-\x7e]{1,1000}", token):
        return "", f"{where} holds characters that no token has"
    if scheme == "http" and host not in LOOPBACK:
        return "", "a token is sent to https addresses only"
    return token, ""


def is_true(value: str | None) -> bool:
    """Whether an environment variable of the hub library is on."""
    return (value or "").lower() in ("1", "true", "yes", "on")


def _seconds(given: str | None) -> float:
    try:
        return min(max(float(given or ""), 1.0), FETCH_SECONDS)
    except ValueError:
        return SECONDS_PER_ANSWER


def _kind(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return "dropped" if isinstance(reason, ConnectionResetError | http.client.HTTPException) else ""


def _reason(error: Exception, timeout: float) -> tuple[str, str]:
    """What went wrong on the way, and what to do. Never the text of the error, which may quote a header."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return f"gives no answer within {timeout:.0f} s", "try again, or set HF_HUB_DOWNLOAD_TIMEOUT"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"shows a certificate that is not trusted ({reason.verify_message})", "set REQUESTS_CA_BUNDLE"
    check = "check HF_ENDPOINT, the proxy and the network"
    if isinstance(reason, socket.gaierror):
        return "is not found: its name means nothing to this machine", check
    if isinstance(reason, OSError) and reason.strerror:
        return f"cannot be reached: {reason.strerror.lower()}", check
    return f"sends what is no HTTP answer ({type(reason).__name__})", "try again"
