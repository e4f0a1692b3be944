"""A model in a local hub cache: ``refs/<revision>`` is a commit, ``snapshots/<commit>`` links to ``blobs``.

The cache is a folder that anything may have written to, so nothing in it leads out of the model's own folder.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import FileFault, legible
from eaglecfg.checkpoint.hubid import COMMIT, HUB, HubId, proper_revision
from eaglecfg.checkpoint.limits import MAX_FOLDER_ENTRIES, MAX_REF_BYTES
from eaglecfg.checkpoint.regular import read_small


class Snapshot(NamedTuple):
    """A commit's folder in a cache."""

    folder: str
    commit: str


def find_snapshot(cache: str, hub: HubId, shown: str) -> Snapshot | None:
    """The snapshot of ``hub`` below the folder ``cache``; None where the cache does not have it.

    Raises FileFault where the cache holds something else in its place: a reference that is not a commit, a
    link that leads out of the model's folder, a file that cannot be read.
    """
    check_revision(hub, shown)
    repo = os.path.join(cache, hub.cache_name)  # noqa: PTH118
    if not cache or not os.path.isdir(repo):  # noqa: PTH112
        return None
    commit = hub.revision if hub.fixed else _commit(repo, hub, shown)
    if commit is None:
        return None
    folder = os.path.join(repo, "snapshots", commit)  # noqa: PTH118
    if not os.path.isdir(folder):  # noqa: PTH112
        return None
    refuse_ways_out(repo, folder, shown)
    return Snapshot(folder, commit)


def check_revision(hub: HubId, shown: str) -> None:
    """Raises FileFault for a revision that no git repository can have."""
    if not proper_revision(hub.revision):
        message = f"{shown}: the revision {legible(hub.revision)} is not the name of a branch, tag or commit"
        raise FileFault(
            FileProblem("not-local", shown, message, "give the full commit hash", True, HUB, hub.revision)
        )


def _commit(repo: str, hub: HubId, shown: str) -> str | None:
    """The commit that ``refs/<revision>`` holds, None where there is no such reference."""
    path = os.path.join(repo, "refs", hub.revision)  # noqa: PTH118
    name = f"refs/{hub.revision}"
    try:
        data = read_small(path, f"{name} of {shown} in the hub cache", MAX_REF_BYTES)
    except FileFault as fault:
        if fault.problem.kind == "missing-file":
            return None
        raise
    if not _inside(os.path.realpath(repo), path):
        raise FileFault(_way_out(shown, name, path))
    text = data.decode("ascii", "replace").strip()
    if not re.fullmatch(COMMIT, text):
        message = f"{name} of {shown} in the hub cache holds {legible(text[:50]) or 'nothing'}, not a commit"
        help = "download the model again, or give the full commit hash"
        raise FileFault(FileProblem("not-local", shown, message, help, True, HUB))
    return text


def refuse_ways_out(repo: str, folder: str, shown: str) -> None:
    """Raises FileFault where ``folder``, or a file in it, leads out of ``repo``, as no library writes it."""
    home = os.path.realpath(repo)
    if not _inside(home, folder):
        raise FileFault(_way_out(shown, "its snapshot", folder))
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count == MAX_FOLDER_ENTRIES:  # the reader stops there as well, and says so
                    return
                if entry.is_symlink() and not _inside(home, entry.path):
                    raise FileFault(_way_out(shown, entry.name, entry.path))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        message = f"{shown} in the hub cache cannot be read: {reason}"
        problem = FileProblem("unreadable", shown, message, "check its permissions", True, HUB)
        raise FileFault(problem) from None


def _inside(home: str, path: str) -> bool:
    return os.path.realpath(path).startswith(f"{home}/")


def _way_out(shown: str, name: str, path: str) -> FileProblem:
    message = (
        f"{legible(name)} of {shown} in the hub cache leads to {legible(os.path.realpath(path))}, "
        "outside the folder of the model"
    )
    help = "remove the model from the cache and download it again"
    return FileProblem("hub-link", shown, message, help, True, legible(name), "symlink")
