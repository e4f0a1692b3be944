"""``--online``: what a check looks at of a model on the hub, fetched into a folder that reads like any other.

JSON files are fetched whole; of a weight file only the header and the vocabulary maps are, by byte range.
They are written into a file of holes of the full size, so that everything which reads local checkpoints reads
these, with the same checks. The folder is eaglecfg's own and has the layout of a hub cache: one blob per
ETag, one snapshot per commit; the hub library never sees it, because its weights are not there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from eaglecfg.checkpoint.dtypes import INTEGER_CODES
from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import FileFault, listed
from eaglecfg.checkpoint.header import LENGTH_BYTES, RawHeader, announced_length
from eaglecfg.checkpoint.hubcache import Snapshot, check_revision, refuse_ways_out
from eaglecfg.checkpoint.hubid import HUB, HubAccess, HubId
from eaglecfg.checkpoint.index import SAFETENSORS_INDEX, Index, plain, read_index
from eaglecfg.checkpoint.jsonfiles import CONFIG, GENERATION, QUANTIZATION, TOKENIZER, TRAINING, read_config
from eaglecfg.checkpoint.limits import (
    FETCH_SECONDS,
    FIRST_READ,
    MAX_CONFIG_BYTES,
    MAX_FILES,
    MAX_INDEX_BYTES,
    MAX_MAP_ENTRIES,
    MAX_REMOTE_FILE,
    MAX_TOKENIZER_BYTES,
)
from eaglecfg.checkpoint.listing import Listing, RemoteFile, read_listing, write_atomically
from eaglecfg.checkpoint.parallel import side_by_side
from eaglecfg.checkpoint.safetensors import parse_header
from eaglecfg.checkpoint.vocabulary import is_map
from eaglecfg.checkpoint.web import Web, WebFault, is_true
from eaglecfg.checkpoint.weights import NOT_WEIGHTS, files_to_open

WHOLE = {
    CONFIG: MAX_CONFIG_BYTES,
    GENERATION: MAX_CONFIG_BYTES,
    TRAINING: MAX_CONFIG_BYTES,
    QUANTIZATION: MAX_CONFIG_BYTES,
    TOKENIZER: MAX_TOKENIZER_BYTES,
    SAFETENSORS_INDEX: MAX_INDEX_BYTES,
}
"""Files that are fetched whole, each with the most bytes that the reader takes."""


Parts = list[tuple[int, bytes]]
"""Offsets and the bytes there."""


class Place(NamedTuple):
    """Where one model is fetched to: its folder of the cache, and what the hub has of it."""

    repo: Path
    listing: Listing
    shown: str

    @property
    def snapshot(self) -> Path:
        return self.repo / "snapshots" / self.listing.commit


def fetch(
    hub: HubId, shown: str, access: HubAccess, *, everything: bool, seconds: float = FETCH_SECONDS
) -> tuple[Snapshot, list[FileProblem]]:
    """The fetched snapshot of ``hub``, and what of it is not fetched. Raises FileFault.

    ``everything`` fetches the header of every weight file, as reading a draft needs it.
    """
    settings = access.settings or {}
    check_revision(hub, shown)
    if not access.own:
        raise FileFault(_problem(shown, "there is no home folder to keep headers in", "set XDG_CACHE_HOME"))
    if is_true(settings.get("HF_HUB_OFFLINE") or settings.get("TRANSFORMERS_OFFLINE")):
        raise FileFault(_problem(shown, "HF_HUB_OFFLINE is set, so the hub is not asked", "unset it"))
    host = "the hub"
    try:
        web = Web(settings, seconds)
        host = f"the hub {web.host}"
        key = f"{web.host}-{hashlib.sha256(web.address.encode()).hexdigest()[:8]}"
        repo = Path(access.own) / key / hub.cache_name

        def whole(_: None) -> tuple[Snapshot, list[FileProblem]]:
            place = Place(repo, read_listing(web, hub, repo / "listings"), shown)
            return Snapshot(str(place.snapshot), place.listing.commit), _fetch(web, hub, place, everything)

        return side_by_side(whole, [None], seconds + 1)[0]
    except WebFault as fault:
        raise FileFault(_problem(shown, f"{host} {fault.why}", fault.help)) from None
    except TimeoutError:
        raise FileFault(_problem(shown, f"{host} took longer than {seconds:.0f} s", "try again")) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        message = f"what is fetched cannot be kept below {access.own}: {reason}"
        raise FileFault(_problem(shown, message, "set XDG_CACHE_HOME")) from None


def _problem(shown: str, message: str, help: str) -> FileProblem:
    return FileProblem("not-local", shown, f"{shown} is not read: {message}", help, True, HUB)


def _fetch(web: Web, hub: HubId, place: Place, everything: bool) -> list[FileProblem]:
    """Fill the snapshot's folder; the files that are not fetched are there as holes of their size."""
    files = place.listing.files
    place.snapshot.mkdir(parents=True, exist_ok=True, mode=0o700)
    refuse_ways_out(str(place.repo), str(place.snapshot), place.shown)

    def small(name: str) -> None:
        _link(place, files[name], lambda: ([(0, web.get(_path(hub, place, name), WHOLE[name]).body)], None))

    def header(name: str) -> None:
        _link(place, files[name], lambda: _header(web, _path(hub, place, name), name))

    side_by_side(small, [name for name in WHOLE if name in files], FETCH_SECONDS)
    weights = sorted(name for name in files if name.endswith(".safetensors"))
    pickles = sorted(n for n in files if n.endswith(".bin") and not n.endswith(NOT_WEIGHTS))
    side_by_side(header, _headers(place, weights, everything), FETCH_SECONDS)
    for file in files.values():
        hole = place.snapshot / file.name
        if (file.name not in pickles or weights) and not os.path.lexists(hole):
            write_atomically(hole, [], file.size or 0)
    if pickles and not weights:
        message = f"{place.shown} has {listed(pickles)}; of a hub only safetensors files are read"
        return [FileProblem("not-supported", place.shown, message, "download the model", True, HUB)]
    return []


def _path(hub: HubId, place: Place, name: str) -> str:
    return f"/{hub.repo}/resolve/{place.listing.commit}/{quote(name, safe='')}"


def _headers(place: Place, weights: list[str], everything: bool) -> list[str]:
    """The weight files whose header is fetched: those that reading the folder will open."""
    sizes = {name: place.listing.files[name].size for name in weights}
    index: Index | None = None
    if SAFETENSORS_INDEX in place.listing.files:
        try:
            index = read_index(str(place.snapshot / SAFETENSORS_INDEX), SAFETENSORS_INDEX)
        except FileFault:
            index = None  # reading the folder says so, and takes every file as engines do
    if index is None or everything or None in sizes.values():
        wanted = weights if index is None else [name for name in index.files if plain(name) and name in sizes]
        return [name for name in wanted if sizes[name] != 0][:MAX_FILES]
    config, _ = read_config(str(place.snapshot), place.shown)
    layers = config.integer("num_hidden_layers") if config is not None else None
    return files_to_open(index, {name: size or 0 for name, size in sizes.items()}, layers)


def _header(web: Web, path: str, name: str) -> tuple[Parts, int | None]:
    """The parts of a weight file that are read, with their offsets, and its whole size in bytes."""
    answer = web.range(path, 0, FIRST_READ)
    size, first = answer.total, answer.body
    if size > MAX_REMOTE_FILE:
        raise WebFault(f"gives {name} a size of {size:,} bytes")
    try:
        length = announced_length(first, size, name)
    except FileFault:
        return [(0, first)], size  # reading the folder finds the same, and says it
    data = first[LENGTH_BYTES : LENGTH_BYTES + length]
    if len(data) < length:
        data += web.range(path, LENGTH_BYTES + len(data), length - len(data)).body
    parts: Parts = [(0, first[:LENGTH_BYTES] + data)]
    header = parse_header(RawHeader(data, size), name)
    for tensor, (dtype, _, begin, end) in header.entries.items():
        start = header.start + begin
        if is_map(tensor) and dtype in INTEGER_CODES and 0 < end - begin <= 8 * MAX_MAP_ENTRIES:
            parts.append((start, web.range(path, start, end - begin).body))
    return parts, size


def _link(place: Place, file: RemoteFile, fetched: Callable[[], tuple[Parts, int | None]]) -> None:
    """Make the snapshot's file a link to its blob, which is fetched unless a file of that ETag was before."""
    link = place.snapshot / file.name
    if link.is_symlink() and link.is_file():
        return
    key = file.etag or hashlib.sha256(f"{place.listing.commit}/{file.name}".encode()).hexdigest()
    blob = place.repo / "blobs" / key
    if blob.is_symlink() or not blob.is_file():
        write_atomically(blob, *fetched())
    temporary = link.with_name(f".{os.urandom(8).hex()}")
    temporary.symlink_to(f"../../blobs/{key}")
    temporary.replace(link)
