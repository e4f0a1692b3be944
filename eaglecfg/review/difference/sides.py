"""The states to compare: a file, or a folder's config and study files, on disk or in a git revision."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eaglecfg.errors import ConfigUnreadable, UsageError
from eaglecfg.review.difference.revision import Blob, Revision, open_revision, split_spelling
from eaglecfg.rules.context import Checkpoints
from eaglecfg.source.document import Document
from eaglecfg.source.limits import MAX_BYTES
from eaglecfg.source.read import read_bytes, read_document

CONFIGS = ("eaglecfg.yaml", "eaglecfg.yml")
STUDIES = "studies"
"""The folder whose YAML files are studies, wherever in the tree it lies."""

LEFT_OUT = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))
"""Folders that hold other people's files; those whose name begins with a dot are left out as well."""

MOST_FILES = 300
"""Config and study files of one side."""

MOST_LINKS = 10
LONGEST_LINK = 4_096

MOST_ENTRIES = 200_000
"""Files of a folder that are looked at by name. More is a folder that was named by mistake."""


@dataclass(slots=True)
class Side:
    """One state. ``documents`` by the name that pairs them with the other side's: the path inside the folder,
    or nothing at all for a single file. ``named``: these files were asked for, others were not looked for.

    ``elsewhere`` are files that a revision does not hold and that the working tree gave in their place.
    ``laid`` leads from a checkpoint's folder to that where its revision is laid out; ``contents`` are hashes
    that are known already. ``other`` is the other side's revision, or the index where that is on disk.
    ``unknown`` are documents with names in them of files that neither the revision nor the working tree
    gives.
    """

    spelled: str
    documents: dict[str, Document]
    folder: bool
    checkpoints: Checkpoints
    revision: Revision | None = None
    named: bool = False
    other: Revision | None = None
    elsewhere: dict[str, None] = field(default_factory=dict)
    laid: dict[str, str] = field(default_factory=dict)
    contents: dict[str, dict[str, str]] = field(default_factory=dict)
    unknown: set[tuple[str, str]] = field(default_factory=set)

    @property
    def label(self) -> str:
        """What a sentence calls it."""
        return self.spelled if self.revision is None else self.revision.spelled or "the index"

    def keeps(self, path: str) -> bool:
        """Whether git keeps the file or folder ``path``, so that a revision without it does not have it.

        Git keeps what the other side's revision holds. Else it lies in the working tree alone.
        """
        return self.other is not None and bool(self.other.list(path))


def open_side(spelled: str, here: Path, checkpoints: Checkpoints, files: Sequence[str] = ()) -> Side:
    """The state that ``spelled`` names, seen from the folder ``here``.

    Of a folder ``files`` are taken, relative to it, or all configs and studies.

    A name that is there as a file or a folder is that; else ``REV:path`` is a git revision's (``:path`` the
    index's, ``REV:`` the whole tree's). Raises UsageError for a name that is none of these, ConfigUnreadable
    for a file that cannot be read.
    """
    if not spelled:
        raise UsageError("a file, a folder or REV:path is expected, got an empty name")
    path = here / spelled
    if os.path.isdir(path):  # noqa: PTH112 - of a name with a NUL it says no, where pathlib raises
        names = [name for name in files if os.path.lexists(path / name)] if files else _walk(path, spelled)
        _refuse_many(len(files), spelled)
        documents = {name: _member(path / name, _joined(spelled, name)) for name in names}
        return Side(spelled, documents, True, checkpoints, named=bool(files))
    divided = split_spelling(spelled)
    if divided is None and "\0" not in spelled and not os.path.lexists(path):
        raise ConfigUnreadable(
            f"{spelled}: there is no such file or folder; a git revision is written {spelled}: or "
            f"{spelled}:PATH"
        )
    if os.path.lexists(path) or divided is None:
        return Side(spelled, {"": read_document(path, spelled)}, False, checkpoints)
    return _of_revision(spelled, *divided, here, checkpoints, files)


def _member(path: Path, shown: str) -> Document:
    """A file of a folder; a pipe, which one may name alone, would be waited for without an end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ConfigUnreadable(f"{shown}: a file is expected, this is a pipe or a device")
    return read_document(path, shown)


def _of_revision(
    spelled: str, name: str, given: str, here: Path, checkpoints: Checkpoints, files: Sequence[str]
) -> Side:
    revision = open_revision(name, here)
    path = revision.path(given)
    if files:
        return _named_of_revision(spelled, revision, path, here, checkpoints, files)
    blobs = revision.list(path)
    label = name or "the index"
    if any(blob.path == path for blob in blobs):
        blob = next(blob for blob in blobs if blob.path == path)
        return Side(spelled, {"": _document(revision, blob, here)}, False, checkpoints, revision)
    if not blobs:
        beside = f"{revision.prefix}{given}"
        hint = ""
        if path and revision.prefix and revision.list(beside):
            hint = f"; it has {beside}: write {name}:./{given}, or {name}:{beside}"
        raise UsageError(f"{label} has no file or folder {path or '/'}{hint}")
    inside = {blob.path.removeprefix(path).lstrip("/"): blob for blob in blobs}
    wanted = [name for name in sorted(inside) if _wanted(name)]
    _refuse_many(len(wanted), spelled)
    documents = {name: _document(revision, inside[name], here) for name in wanted}
    return Side(spelled, documents, True, checkpoints, revision)


def _named_of_revision(
    spelled: str, revision: Revision, folder: str, here: Path, checkpoints: Checkpoints, files: Sequence[str]
) -> Side:
    """These files of a revision, relative to ``folder``, as far as it has them."""
    _refuse_many(len(files), spelled)
    documents = {}
    for name in files:
        path = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118
        if path.startswith("../"):
            raise UsageError(f"{name} leads out of the repository {revision.root}")
        blob = next((blob for blob in revision.list(path) if blob.path == path), None)
        if blob is not None:
            documents[name] = _document(revision, blob, here)
    return Side(spelled, documents, True, checkpoints, revision, named=True)


def _document(revision: Revision, blob: Blob, here: Path) -> Document:
    """A file of a revision; what it names counts from where it stands in the working tree."""
    full = revision.root / blob.path
    shown, stands = os.path.relpath(full, here), _followed(revision, blob)
    if stands is None:
        what = "a symbolic link that leads to no file of it" if blob.kind == "link" else "another repository"
        raise ConfigUnreadable(f"{revision.spelled}:{blob.path} is {what}, a file is expected")
    return read_bytes(revision.read(stands, MAX_BYTES + 1), shown, str(full.parent))


def _followed(revision: Revision, blob: Blob | None) -> Blob | None:
    """The file of the same revision that a symbolic link stands for; a file for itself."""
    for _ in range(MOST_LINKS):
        if blob is None or blob.kind != "link":
            return blob if blob is not None and blob.kind == "file" else None
        leads = os.fsdecode(revision.read(blob, LONGEST_LINK))
        path = os.path.normpath(os.path.join(os.path.dirname(blob.path), leads))  # noqa: PTH118, PTH120
        if path.startswith(("..", "/")):
            return None
        blob = next((each for each in revision.list(path) if each.path == path), None)
    return None


def _walk(folder: Path, spelled: str) -> Iterator[str]:
    """Names of config and study files below ``folder``, sorted."""
    found, seen = [], 0
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        seen += len(files) + len(folders)
        if seen > MOST_ENTRIES:
            raise UsageError(f"{spelled} holds more than {MOST_ENTRIES:,} files; name a smaller folder")
        inside = os.path.relpath(where, folder)
        names = [name if inside == "." else f"{inside}/{name}" for name in files]
        found += [name for name in names if _wanted(name)]
    _refuse_many(len(found), spelled)
    yield from sorted(found)


def _refuse_many(count: int, spelled: str) -> None:
    if count > MOST_FILES:
        raise UsageError(
            f"{spelled} holds {count} config and study files, {MOST_FILES} at most are compared; "
            "name a smaller folder"
        )


def _wanted(name: str) -> bool:
    """Whether a path inside a folder is that of a config or a study."""
    *folders, file = name.split("/")
    if any(part in LEFT_OUT or part.startswith(".") for part in folders):
        return False
    studies = bool(folders) and folders[-1] == STUDIES and file.endswith((".yaml", ".yml"))
    return file in CONFIGS or studies


def _joined(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))  # noqa: PTH118 - as the user spells it
