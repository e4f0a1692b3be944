"""Server launches in the containers of Kubernetes manifests."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.errors import UsageError
from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.interpolation import kubernetes
from eaglecfg.review.imports.manifest_rest import left_out_around
from eaglecfg.review.imports.mounts import Mount
from eaglecfg.review.imports.text import Note, Text, not_known
from eaglecfg.review.imports.yaml_source import TEMPLATE, Part
from eaglecfg.source.span import KeyPath

DEEPEST = 14
"""Levels between an object and its containers: a CronJob in a List has nine."""

_TAKEN = frozenset(("name", "image", "command", "args", "env"))


def calls_of_manifest(part: Part) -> Iterator[Call]:
    """The launches in all containers of the objects in ``part``."""
    leads = part.value(("spec", "leaderWorkerTemplate", "leaderTemplate")) is not None
    found = [(path, list(_container(part, path, owner))) for path, owner in _containers(part, (), "", 0)]
    for path, calls in found:
        worker = leads and "workerTemplate" in path
        others = [other for other, launches in found if other[:-1] == path[:-1] and not launches]
        for call in calls:
            notes = (*left_out_around(part, path), *(_beside(part, other) for other in others))
            yield replace(call, worker=worker, notes=(*call.notes, *notes))


def _beside(part: Part, container: KeyPath) -> Note:
    name = part.text((*container, "name"))
    return Note(f"left out: the container {name}, which launches no server", part.at(container))


def _containers(part: Part, path: KeyPath, owner: str, depth: int) -> Iterator[tuple[KeyPath, str]]:
    """(path of a container, name of the object that it belongs to)."""
    value = part.value(path)
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str):
            owner = part.text((*path, "metadata", "name")) or owner
        for key, item in value.items():
            if key == "containers" and isinstance(item, list):
                for index in range(len(item)):
                    yield (*path, key, index), owner
            elif isinstance(item, dict | list) and key != "initContainers":
                yield from _containers(part, (*path, key), owner, depth + 1)
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from _containers(part, (*path, index), owner, depth + 1)


def _container(part: Part, at: KeyPath, owner: str) -> Iterator[Call]:
    if not isinstance(part.value(at), dict):
        return
    told: list[Note] = []
    more = bool(part.value((*at, "envFrom")))
    environment = _environment(part, (*at, "env"), told, more=more)
    known = {**_of_the_group(part), **environment}
    words = []
    for key in ("command", "args"):
        items = part.value((*at, key))
        for index in range(len(items)) if isinstance(items, list) else ():
            words.append(kubernetes(part.text((*at, key, index)), known, more=more))
    if not words:
        return
    unread = ""
    for key in part.value(at):
        if key == "envFrom" and not more:
            continue
        if key == "envFrom":
            unread = key
            told.append(
                Note("envFrom is not read: its variables are not known", part.at((*at, key)), True, "env")
            )
        elif key not in _TAKEN:
            told.append(Note(f"left out: {key} of the container", part.at((*at, key))))
    command = Command(tuple(words), environment, part.at((*at, "command")), unread)
    for call in calls_of_command(command):
        shown = (*call.arguments, *call.environment.values(), Text(part.text((*at, "image"))))
        if not part.rendered and (
            template := next((one.text for one in shown if TEMPLATE.search(one.text)), "")
        ):
            raise UsageError(
                f"line {command.line}: {template[:80]} is a template; render the chart first: "
                "helm template ... | eaglecfg import -"
            )
        yield replace(
            call,
            name=call.name or owner or part.text((*at, "name")),
            image=call.image or part.text((*at, "image")),
            contained=True,
            mounts=_mounts(part, at),
            notes=(*told, *call.notes),
        )


def _environment(part: Part, path: KeyPath, told: list[Note], *, more: bool) -> dict[str, Text]:
    out: dict[str, Text] = {}
    items = part.value(path)
    for index in range(len(items)) if isinstance(items, list) else ():
        name = part.text((*path, index, "name"))
        given = part.value((*path, index, "valueFrom"))
        if not name:
            continue
        if isinstance(given, dict):
            source = next(iter(given), "valueFrom")
            secret = source == "secretKeyRef"
            out[name] = not_known(name) if secret else Text(f"${{{name}}}", (f"the {source} of {name}",))
            if not secret:
                told.append(Note(f"{name} comes from a {source}", part.at((*path, index))))
        else:
            out[name] = kubernetes(part.text((*path, index, "value")), out, more=more)
    return out


def _mounts(part: Part, container: KeyPath) -> tuple[Mount, ...]:
    """The folders of the node that the container sees."""
    hosts = {}
    volumes = (*container[:-2], "volumes")
    items = part.value(volumes)
    for index in range(len(items)) if isinstance(items, list) else ():
        hosts[part.text((*volumes, index, "name"))] = part.text((*volumes, index, "hostPath", "path"))
    found = []
    items = part.value((*container, "volumeMounts"))
    for index in range(len(items)) if isinstance(items, list) else ():
        at = (*container, "volumeMounts", index)
        host = hosts.get(part.text((*at, "name")))
        if host:
            found.append(Mount(host, part.text((*at, "mountPath"))))
    return tuple(found)


def _of_the_group(part: Part) -> dict[str, Text]:
    """What a LeaderWorkerSet puts into the environment of its pods and the manifest tells."""
    size = part.text(("spec", "leaderWorkerTemplate", "size"))
    if part.value(("kind",)) != "LeaderWorkerSet":
        return {}
    names = ("LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX")
    return {"LWS_GROUP_SIZE": Text(size or "1"), **{name: not_known(name) for name in names}}
