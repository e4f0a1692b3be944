"""What config and study files name, as a revision has it; what git does not keep, from the working tree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from eaglecfg.checkpoint.load import read_checkpoint, seen_from
from eaglecfg.engines.blocks import in_blocks
from eaglecfg.engines.table import facts_of
from eaglecfg.record import replace
from eaglecfg.review.difference.contents import is_served
from eaglecfg.review.difference.not_in_git import POINTER, CheckpointFiles, is_weights, pointed_at
from eaglecfg.review.difference.revision import Blob, Revision
from eaglecfg.review.difference.sides import Side
from eaglecfg.schema.deployment import Draft, Target
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document

LARGEST = 64 << 20
"""Bytes of a file that is taken out of git to be read; a larger one is read in the working tree."""

MOST_BYTES = 512 << 20
"""Bytes taken out of git for one side."""


def read_at_revision(side: Side, revision: Revision, scratch: Path) -> None:
    """Put what the files of ``side`` name, as its revision has it, where its rules will look for it.

    ``scratch`` is an empty folder that has to stay until the comparison is over. Checkpoints outside the
    repository are read where they lie.
    """
    taken = [0]
    for name, document in list(side.documents.items()):
        if kind_of(document) == "study":
            side.documents[name] = _placed(side, document, revision, scratch / "studies")
            continue
        config = load_config(document)
        engine = config.engine
        facts = facts_of(engine)
        for deployment in config.deployments:
            model = in_blocks(deployment.model, facts).model
            _take(side, revision, document, model.target, "target", scratch, taken)
            if model.draft is not None:
                _take(side, revision, document, model.draft, "draft", scratch, taken)


def _placed(side: Side, document: Document, revision: Revision, scratch: Path) -> Document:
    """A study beside the config and the prompts that it names, as the revision has them."""
    if not isinstance(document.data, dict):
        return document
    home = os.path.relpath(document.folder, revision.root)
    (scratch / home).mkdir(parents=True, exist_ok=True)
    workload = document.data.get("workload")
    named = [document.data.get("config"), workload.get("prompts") if isinstance(workload, dict) else None]
    for spelled in named:
        if not isinstance(spelled, str) or not spelled or "\0" in spelled or os.path.isabs(spelled):  # noqa: PTH117
            continue
        inside = os.path.normpath(os.path.join(home, spelled))  # noqa: PTH118
        if inside.startswith(".."):
            continue
        path, there = scratch / inside, revision.root / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        blob = next((blob for blob in revision.list(inside) if blob.path == inside), None)
        if path.exists():
            continue
        small = blob is not None and blob.kind == "file" and (blob.size or 0) <= LARGEST
        raw = revision.read(blob, LARGEST) if blob is not None and small else b""
        pointed = pointed_at(raw)
        size = pointed[1] if pointed is not None else blob.size if blob is not None else None
        if small and pointed is None:
            path.write_bytes(raw)
        elif blob is None and side.keeps(inside):
            continue  # git keeps it elsewhere: here it was not
        elif there.is_file() and size in (None, there.stat().st_size):
            path.symlink_to(there)
            side.elsewhere[seen_from(document.name, spelled)] = None
        else:
            side.unknown.add((document.name, spelled))
    return replace(document, folder=str(scratch / home))


def _take(
    side: Side,
    revision: Revision,
    document: Document,
    model: Target | Draft,
    role: Literal["target", "draft"],
    scratch: Path,
    taken: list[int],
) -> None:
    """Read one checkpoint as the revision has it, unless git knows nothing of it."""
    spelled, known = model.checkpoint, side.checkpoints.known
    if "\0" in spelled or "://" in spelled:
        return
    named = os.path.join(document.folder, spelled)  # noqa: PTH118
    full = os.path.normpath(named)
    inside = os.path.relpath(full, revision.root)
    key = (os.path.realpath(named), seen_from(document.name, spelled))
    whole = (*key, model.revision, role)
    if whole in known or inside.startswith("..") or inside == ".":
        return
    # A link to a folder is one file to git; so is another repository in this one.
    every = revision.list(inside)
    blobs = [blob for blob in every if blob.path != inside]
    if not blobs and (every or not (os.path.isdir(full) and side.keeps(inside))):  # noqa: PTH112
        if os.path.isdir(full):  # noqa: PTH112
            side.elsewhere[key[1]] = None
        return
    base = scratch / str(len(known))
    files = CheckpointFiles(side, revision, inside, Path(full), blobs)
    if blobs:
        for name in _lay_out(side, revision, blobs, Path(full), base / inside, inside, taken, files):
            side.elsewhere[f"{key[1]}/{name}"] = None
    side.laid[key[0]] = str(base / inside)
    beside = base / os.path.relpath(document.folder, revision.root)
    beside.mkdir(parents=True, exist_ok=True)  # or ../ would lead nowhere
    facts = read_checkpoint(
        beside,
        spelled,
        role=role,
        deep=side.checkpoints.deep,
        beside=document.name,
        revision=model.revision,
        hub=side.checkpoints.hub,
    )
    known[whole] = replace(files.told(facts, side.label), folder=key[0])


def _lay_out(
    side: Side,
    revision: Revision,
    blobs: Sequence[Blob],
    full: Path,
    folder: Path,
    inside: str,
    taken: list[int],
    files: CheckpointFiles,
) -> list[str]:
    """Write the files of a checkpoint into ``folder``; names of those that the working tree has to give."""
    aside: list[str] = []
    names = set()
    for blob in blobs:
        name = blob.path.removeprefix(f"{inside}/")
        if "/" in name:  # nothing below a checkpoint's own folder is read
            continue
        names.add(name)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        small = blob.kind == "file" and (blob.size or 0) <= LARGEST and taken[0] <= MOST_BYTES
        raw = revision.read(blob, LARGEST + 1) if small else b""
        if small and len(raw) <= LARGEST and not raw.startswith(POINTER):
            taken[0] += len(raw)
            path.write_bytes(raw)
        elif is_weights(name) and not files.stands_for(blob, raw):
            files.lost.add(name)
        elif (full / name).exists():
            path.symlink_to(full / name)
            aside.append(name)
        else:
            files.lost.add(name)
    if full.is_dir():
        kept = {blob.path for blob in side.other.list(inside)} if side.other is not None else set()
        for entry in sorted(os.listdir(full)):  # noqa: PTH208 - names are all that is needed
            if not (is_weights(entry) or is_served(entry)) or entry in names or f"{inside}/{entry}" in kept:
                continue
            if is_weights(entry) and not files.belong:
                files.lost.add(entry)
            else:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / entry).symlink_to(full / entry)
                aside.append(entry)
    return aside
