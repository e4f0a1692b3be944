"""What a running server says of itself, to settings: those that are not the engine's defaults."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.flags import UNREADABLE
from eaglecfg.errors import UsageError
from eaglecfg.review.imports.flags import Setting
from eaglecfg.review.imports.text import Note
from eaglecfg.review.placing import DRAFT, MODEL

PATHS = ("/server_info", "/get_server_info")
"""The first is newer; the other one alone is known up to 0.5.5.post3."""

LAUNCH = "launch_command"

_AS_GIVEN = "the flags that the server says it was started with are taken, with the values that run"
_AS_THEY_RUN = "settings are as they run: some may be the engine's own choice rather than given"

SECONDS = 10.0
MOST_BYTES = 8 * 1024 * 1024
"""An answer has some 50 KiB; long ones hold the state of many ranks."""

_DRAWN = frozenset(("random_seed", "nccl_port"))
"""What a server draws for itself at start."""

_FOLLOWS_MODEL = frozenset(("tokenizer_path", "served_model_name"))
"""What is the model's path where it is not given."""

_FILLED = {"speculative_draft_model_revision": "main"}
"""What the engine writes where nothing is given, and what that means."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def fetch(url: str) -> str:
    """The answer of the server at ``url``, which may name the path too. Reads, and changes nothing there.

    Raises UsageError for an address or an answer that is of no use, within some ten seconds.
    """
    parts = urlsplit(url)
    try:
        proper = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        proper = False
    if not proper or "@" in parts.netloc:
        raise UsageError(f"{url}: an address of the form http://host:port is expected")
    end = time.monotonic() + SECONDS
    base = f"{parts.scheme}://{parts.netloc}"
    paths = (parts.path,) if parts.path.strip("/") else PATHS
    for path in paths:
        body = _within(base + path, end)
        if body is not None:
            return body
    raise UsageError(f"{url}: the server has no {' and no '.join(paths)}; is it SGLang?")


def _within(address: str, end: float) -> str | None:
    """``_get``, given up at ``end`` whatever the server does: its socket counts each wait alone."""
    found: list[str | None] = []
    failed: list[UsageError] = []

    def ask() -> None:
        try:
            found.append(_get(address, end))
        except UsageError as error:
            failed.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(max(0.1, end - time.monotonic()))
    if failed:
        raise failed[0]
    if not found:
        raise UsageError(f"{address}: no whole answer within {SECONDS:.0f} s")
    return found[0]


def _get(address: str, end: float) -> str | None:
    """The body at ``address``, None where the server does not know the path."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    try:
        with opener.open(address, timeout=max(0.1, end - time.monotonic())) as answer:
            parts: list[bytes] = []
            size = 0
            while part := answer.read1(256 * 1024):
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    raise UsageError(
                        f"{address}: the answer is longer than {MOST_BYTES >> 20} MiB; it is not read"
                    )
                if time.monotonic() > end:
                    raise UsageError(f"{address}: no whole answer within {SECONDS:.0f} s")
            return b"".join(parts).decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 404:
                return None
            if error.code in (401, 403):
                raise UsageError(
                    f"{address}: the server wants an API key; save its answer with "
                    f"curl -H 'Authorization: Bearer ...' {address} > info.json, and import that file"
                ) from None
            raise UsageError(f"{address}: the server answers with status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        shown = "".join(letter if letter.isprintable() else "?" for letter in str(reason)[:200])
        raise UsageError(f"{address}: no answer ({shown})") from None


def parse_info(text: str, shown: str) -> Mapping[str, Any]:
    """The answer as data. Raises UsageError where it is none of a server's."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{shown}: JSON is expected, as a server answers on /server_info") from None
    if not isinstance(data, dict) or not isinstance(data.get(MODEL), str):
        raise UsageError(f"{shown}: the answer names no {MODEL}; is it an SGLang server's /server_info?")
    return data


def version_of(info: Mapping[str, Any]) -> str:
    """The engine's version as the server tells it, empty where it does not."""
    version = info.get("version")
    return version if isinstance(version, str) else ""


def flags_given(info: Mapping[str, Any], facts: EngineFacts) -> frozenset[str] | None:
    """The flags that the server was started with; None where it does not tell, or where a file gave some.

    Servers from 0.5.20 on tell their arguments joined by blanks (0.5.23 srt/entrypoints/http_server.py:869),
    so that names can be read back and values cannot.
    """
    told = info.get(LAUNCH)
    words = told.split() if isinstance(told, str) else []
    names = frozenset(
        facts.flags.canonical(word.partition("=")[0]) for word in words if word.startswith("--")
    )
    return None if not names or "config" in names else names


def settings_of(info: Mapping[str, Any], facts: EngineFacts) -> tuple[dict[str, Setting], tuple[Note, ...]]:
    """The flags that were given, or whose value is not the engine's default, and what is to be told."""
    settings: dict[str, Setting] = {}
    computed: list[str] = []
    drawn: list[str] = []
    given = flags_given(info, facts)
    for name, value in info.items():
        flag = facts.flags.get(name)
        if flag is None or value is None or _same(value, flag.default):
            continue
        if given is not None:
            if (name in given or name == MODEL) and value is not False:
                settings[name] = Setting(name, _plain(value))
        elif _filled_in(info, name, value, flag.default):
            continue
        elif name in _DRAWN:
            drawn.append(name)
        elif flag.default == UNREADABLE:
            if value not in (False, "", [], {}):
                computed.append(name)
        elif value is not False:
            settings[name] = Setting(name, _plain(value))
    notes = [Note(_AS_GIVEN if given is not None else _AS_THEY_RUN)]
    notes.append(Note("a running server tells no environment: env and nccl are left out"))
    notes += [
        Note(f"{name} is relative to the folder that the server was started in") for name in _paths(info)
    ]
    if computed:
        notes.append(Note(f"left out, as the engine works out their defaults: {', '.join(sorted(computed))}"))
    if drawn:
        notes.append(Note(f"left out, as the server draws them at start: {', '.join(sorted(drawn))}"))
    return settings, tuple(notes)


def _paths(info: Mapping[str, Any]) -> Iterator[str]:
    """The checkpoints that a server names by relative paths. ``org/name`` may be a hub id and is none."""
    for name in (MODEL, DRAFT):
        text = info.get(name)
        if isinstance(text, str) and not text.startswith("/") and (text[:1] == "." or text.count("/") > 1):
            yield name


def _filled_in(info: Mapping[str, Any], name: str, value: Any, default: Any) -> bool:
    """Whether a value is what the engine puts where nothing was given."""
    if name in _FOLLOWS_MODEL and value == info[MODEL]:
        return True
    return default is None and (value in ([], {}) or _FILLED.get(name) == value)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, bool) or isinstance(default, bool):
        return value is default
    return bool(value == default)


def _plain(value: Any) -> Any:
    """A value as a flag takes it: objects inside of lists as their JSON."""
    if isinstance(value, list):
        return [json.dumps(item) if isinstance(item, dict | list) else item for item in value]
    return value
