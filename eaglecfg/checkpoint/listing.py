"""What the hub says about one revision of a model: its commit and its files, kept with the answer's ETag."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from eaglecfg.checkpoint.hubid import COMMIT, HubId
from eaglecfg.checkpoint.index import plain
from eaglecfg.checkpoint.limits import MAX_FOLDER_ENTRIES, MAX_LISTING_BYTES, MAX_REMOTE_FILE
from eaglecfg.checkpoint.strictjson import JsonFault, parse_object
from eaglecfg.checkpoint.web import Web, WebFault


class RemoteFile(NamedTuple):
    """A file of a commit. ``size`` in bytes and ``etag`` as far as the hub gives them."""

    name: str
    size: int | None
    etag: str | None


class Listing(NamedTuple):
    """The files of the top folder of one commit, by name."""

    commit: str
    files: Mapping[str, RemoteFile]


def read_listing(web: Web, hub: HubId, folder: Path) -> Listing:
    """Ask the hub, or only whether its last answer, kept in ``folder``, still holds.

    A commit cannot change, so the answer about one is never asked for again. Raises WebFault, OSError.
    """
    kept = folder / f"{hashlib.sha256(hub.revision.encode()).hexdigest()[:32]}.json"
    etag, old = _kept(kept, hub)
    if old is not None and hub.fixed:
        return old
    path = f"/api/models/{hub.repo}/revision/{quote(hub.revision, safe='')}?blobs=true"
    answer = web.get(path, MAX_LISTING_BYTES, etag if old is not None else "")
    if answer.status == 304 and old is not None:
        return old
    listing = _parse(answer.body, hub)
    headers = {name.lower(): value for name, value in answer.headers.items()}
    write_atomically(kept, [(0, json.dumps([headers.get("etag", ""), answer.body.decode()]).encode())])
    return listing


def _kept(path: Path, hub: HubId) -> tuple[str, Listing | None]:
    """The last answer and its ETag; what cannot be read is asked for again."""
    try:
        with path.open("rb") as stream:
            etag, body = json.loads(stream.read(3 * MAX_LISTING_BYTES))
        if isinstance(etag, str) and etag.isascii() and etag.isprintable():
            return etag, _parse(body.encode(), hub)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, WebFault):
        pass
    return "", None


def _parse(body: bytes, hub: HubId) -> Listing:
    try:
        top, _, _ = parse_object(body)
    except JsonFault as fault:
        raise WebFault(f"sends a list of files that {fault.message}", "check HF_ENDPOINT") from None
    commit, siblings = top.get("sha"), top.get("siblings")
    if not isinstance(commit, str) or not re.fullmatch(COMMIT, commit) or not isinstance(siblings, list):
        raise WebFault("sends an answer without a commit and a list of files", "check HF_ENDPOINT")
    if hub.fixed and commit != hub.revision:
        raise WebFault("answers with another commit than the one asked for", "check HF_ENDPOINT")
    files = (_file(item) for item in siblings[:MAX_FOLDER_ENTRIES] if isinstance(item, dict))
    return Listing(commit, {file.name: file for file in files if file is not None})


def _file(item: Mapping[str, Any]) -> RemoteFile | None:
    """One file of the top folder; those of folders below are nothing that is read, nor are odd names."""
    name, size, etag = item.get("rfilename"), item.get("size"), item.get("blobId")
    if not isinstance(name, str) or not plain(name) or not name.isprintable():
        return None
    stored = item.get("lfs")
    if isinstance(stored, dict):
        etag, size = stored.get("sha256"), stored.get("size", size)
    known = type(size) is int and 0 <= size <= MAX_REMOTE_FILE
    good = isinstance(etag, str) and re.fullmatch(r"[0-9a-f]{40,64}", etag)
    return RemoteFile(name, size if known else None, etag if good else None)


def write_atomically(path: Path, parts: list[tuple[int, bytes]], size: int | None = None) -> None:
    """Write ``parts`` (offset and bytes); a file of ``size`` bytes is a hole elsewhere. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name[:40]}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("xb") as stream:
            for offset, data in parts:
                stream.seek(offset)
                stream.write(data)
            if size is not None:
                stream.truncate(size)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
