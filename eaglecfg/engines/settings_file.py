"""The YAML file of ``server: {config: FILE}``: settings that the engine puts in front of its command line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from eaglecfg.engines.arguments import arguments
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.errors import ConfigUnreadable
from eaglecfg.record import record, replace
from eaglecfg.schema.loaded import LoadedDeployment
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document
from eaglecfg.source.span import KeyPath

FLAG = "config"
ENDINGS = (".yaml", ".yml")


@record
class Refusal:
    """Something at which the engine stops. ``line`` and ``column`` in the file, where there is a place."""

    message: str
    help: str
    line: int | None = None
    column: int | None = None


@record
class SettingsFile:
    """One such file. ``name`` as the deployment spells it, ``path`` that setting in document terms.

    ``lines`` are line and column of each setting that is taken from it, by its key in ``path``'s terms;
    ``unread`` says why nothing is known about it; ``source``: where that was read.
    """

    name: str
    path: KeyPath
    lines: Mapping[str, tuple[int, int]]
    refusals: tuple[Refusal, ...] = ()
    unread: str = ""
    source: str = ""


def with_settings_file(
    deployment: LoadedDeployment, folder: str, facts: EngineFacts
) -> tuple[LoadedDeployment, SettingsFile | None]:
    """``deployment`` with what the file says beneath its own settings, and the file, None where none is.

    The place of such a setting is the path of the file's name and its key: one step below what the document
    has. Nothing raises.
    """
    given = arguments(deployment.model, facts)
    named = given.get(FLAG)
    if named is None or isinstance(named.value, list | dict | bool):
        return deployment, None
    name, rule = str(named.value), facts.values["settings_file"]
    path, source = deployment.document_path(named.path), facts.sources["settings_file"]
    unread = _elsewhere(name, folder)
    if unread:
        return deployment, SettingsFile(name, path, {}, (), unread, source)
    read = _read(name, folder)
    if isinstance(read, Refusal):
        return deployment, SettingsFile(name, path, {}, (read,), "", source)
    document, data = read
    refusals: list[Refusal] = []
    server, origin, lines = dict(deployment.model.server), dict(deployment.origin), {}
    for key, value in _settings(data, document, rule["refused"], refusals):
        flag = facts.flags.canonical(key)
        kind = facts.flags[flag].type if flag in facts.flags else ""
        own = given.get(flag)
        if flag == FLAG or (own is not None and not (kind == "bool" and own.value is False)):
            continue  # the command line wins, but for a switch, which it cannot turn off
        for spelled in [one for one in server if facts.flags.canonical(one) == flag]:
            del server[spelled]
        word = _word(value, kind, rule)
        if word is None:
            continue
        plain = key.replace("-", "_")
        server[plain], origin[("server", plain)] = word, (*path, plain)
        lines[plain] = _start(document, key)
    model = deployment.model.model_copy(update={"server": server})
    found = SettingsFile(name, path, lines, tuple(refusals), "", source)
    return replace(deployment, model=model, origin=origin), found


def _elsewhere(name: str, folder: str) -> str:
    """Why a file that is not here need not be missing."""
    if "$" in name:
        return f"{name} still has a variable in it"
    path = Path(name)
    if not path.is_absolute():
        return ""
    try:
        there = path.exists()
    except (OSError, ValueError):
        return ""
    return "" if there else f"{name} is not on this machine"


def _read(name: str, folder: str) -> tuple[Document, Mapping[Any, Any]] | Refusal:
    path = Path(folder) / name
    if path.suffix.lower() not in ENDINGS:
        return Refusal(f"config takes a file that ends in .yaml or .yml, not {name}", "rename the file")
    if _is_pipe(path):
        return Refusal(f"config: {name} is no regular file", "name a file that can be read twice")
    try:
        document = read_document(path, shown=name)
    except ConfigUnreadable as error:
        return Refusal(f"config: {error}", "name the file relative to this one, or leave config out")
    stop = next((one for one in document.problems if one.kind != "empty-file"), None)
    if document.data is None and stop is not None:
        place = stop.span.start
        return Refusal(f"config: {name}: {stop.message}", "mend the file", place.line, place.column)
    try:
        data = yaml.load(document.text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Refusal(
            f"config: {name} is no YAML that loads ({str(error).splitlines()[0]})", "mend the file"
        )
    if data is None:
        data = {}
    if not isinstance(data, dict):
        return Refusal(f"config: {name} takes a mapping from flags to values", "write flag: value lines")
    return document, data


def _is_pipe(path: Path) -> bool:
    """Whether reading would wait for somebody who writes; what is no folder either is told by reading."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):
        return False


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _settings(
    data: Mapping[Any, Any], document: Document, refused: Collection[str], refusals: list[Refusal]
) -> Iterator[tuple[str, Any]]:
    """(key, value) of each setting that the engine's parser can make an option of.

    ``refused`` are those that it takes on a command line and in no file: neither plain switches nor plain
    values, by the name under which their value is kept.
    """
    for key, value in data.items():
        if not isinstance(key, str):
            refusals.append(Refusal(f"{document.name}: {key} is no text, and so no flag", "quote the key"))
        elif "_" in key:
            flag = key.replace("_", "-")
            message = f"{document.name}: {key} becomes --{key}, and the engine has --{flag} alone"
            refusals.append(Refusal(message, f"write {flag}", *_start(document, key)))
        elif key.replace("-", "_") in refused:
            message = f"{document.name}: the engine takes {key} on its command line, and in no file"
            advice = f"take {key} out of the file, and give it under server:"
            refusals.append(Refusal(message, advice, *_start(document, key)))
        else:
            yield key, value


def _start(document: Document, key: str) -> tuple[int, int]:
    place = document.place((key,))
    start = (place.key or place.value).start
    return start.line, start.column


def _word(value: Any, kind: str, rule: Mapping[str, Any]) -> Any:
    """``value`` as it reaches the engine's parser; None where nothing does."""
    if isinstance(value, bool):
        if kind == "bool" or rule["booleans"] == "switches":
            return value or None
        return str(value).lower()
    if isinstance(value, list):
        return [one if isinstance(one, int | float | str) else str(one) for one in value] or None
    if isinstance(value, dict):
        return value if rule["objects"] == "json" else str(value)
    return value if isinstance(value, int | float | str) else str(value)
