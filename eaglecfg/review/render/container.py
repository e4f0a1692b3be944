"""Where a launch in a container finds its checkpoints."""

from __future__ import annotations

import posixpath

from eaglecfg.checkpoint.hubid import hub_id
from eaglecfg.record import record
from eaglecfg.review.placing import DRAFT, DRAFT_REVISION, MODEL, REVISION
from eaglecfg.review.render.launch import Launch

WORK = "/workspace"
CACHE = "/root/.cache/huggingface"
HEALTH = "import urllib.request as r; r.urlopen('http://127.0.0.1:{port}/health', timeout=5)"
"""Asks the server how it is, in Python, which the image has."""


@record
class Mount:
    """A folder of the host, as the config's folder sees it, and its place in the container."""

    host: str
    inside: str
    read_only: bool = True


@record
class Found:
    """Where a checkpoint lies: ``absolute`` folders keep their path; ``above`` ones climb out of the config's
    folder; ``beside`` ones lie below it; ``hub`` ones are fetched. ``either`` is org/name: below the config's
    folder where such a folder is there, else on the hub."""

    kind: str
    path: str


def found(launch: Launch) -> tuple[Found, ...]:
    """Target, draft, and what other flags name with a dot in front, by the spelling: nothing is looked at."""
    out = []
    for flag, revision in ((MODEL, REVISION), (DRAFT, DRAFT_REVISION)):
        spelled = launch.settings.get(flag)
        if isinstance(spelled, str) and spelled and "://" not in spelled:
            out.append(_found(spelled, launch.settings.get(revision)))
    for flag, value in launch.settings.items():
        if flag not in (MODEL, DRAFT) and isinstance(value, str) and value.startswith(("./", "../")):
            out.append(_found(value, None))
    return tuple(out)


def _found(spelled: str, revision: object) -> Found:
    if spelled.startswith("/"):
        return Found("absolute", posixpath.normpath(spelled))
    if hub_id(spelled) is not None:
        return Found("hub" if revision else "either", spelled)
    path = posixpath.normpath(spelled)
    return Found("above" if path == ".." or path.startswith("../") else "beside", path)


def climbs(launch: Launch) -> int:
    """How many folders the checkpoints climb above the config's own."""
    return max(
        (each.path.split("/").count("..") for each in found(launch) if each.kind == "above"), default=0
    )


def workdir(launch: Launch) -> str | None:
    """The container's counterpart of the config's folder, deep enough for every path that climbs out of it;
    None where no path counts from it."""
    if not any(each.kind in ("above", "beside", "either") for each in found(launch)):
        return None
    return posixpath.join(WORK, *["config"] * climbs(launch))


def mounts(launch: Launch) -> tuple[Mount, ...]:
    """The folders that the container needs."""
    out: dict[str, Mount] = {}
    inside = workdir(launch) or WORK
    places = found(launch)
    if any(each.kind in ("beside", "either") for each in places):
        out[inside] = Mount(".", inside)
    for each in places:
        if each.kind == "absolute":
            out[each.path] = Mount(each.path, each.path)
        elif each.kind == "above":
            target = posixpath.normpath(posixpath.join(inside, each.path))
            out[target] = Mount(each.path, target)
    if any(each.kind in ("hub", "either") for each in places):
        out[CACHE] = Mount("~/.cache/huggingface", CACHE, read_only=False)
    return tuple(out.values())
