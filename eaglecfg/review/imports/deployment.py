"""One launch to one deployment: each setting in the block where the schema has it, with what to say of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.command import environment_name, handed_on
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.record import record
from eaglecfg.review.imports.calls import Call
from eaglecfg.review.imports.flags import Setting, read_flags
from eaglecfg.review.imports.folders import from_folder
from eaglecfg.review.imports.mounts import on_the_host
from eaglecfg.review.imports.nccl_library import nccl_of
from eaglecfg.review.imports.text import Note, Text, guarded
from eaglecfg.review.placing import ALGORITHM, DRAFT, MODEL, places
from eaglecfg.review.render.launch import NODE_RANK, VARIABLE
from eaglecfg.review.secrets import is_secret_flag, is_secret_value, variable_of
from eaglecfg.schema.deployment import Parallel, Speculative
from eaglecfg.source.characters import control_in_value
from eaglecfg.source.references import reference_in
from eaglecfg.source.secrets import is_secret_name
from eaglecfg.source.span import KeyPath

CHECKPOINTS = (MODEL, DRAFT)
SHOWN_UNKNOWN = (MODEL, DRAFT, ALGORITHM)
"""What a deployment cannot do without: it is written as it is spelled, and fails until somebody edits it."""


@record
class Entry:
    """One line of a deployment. ``open``: the value is not known, so that the line can only be a comment."""

    path: KeyPath
    value: Any
    remark: str = ""
    open: bool = False


@record
class Imported:
    """One deployment: its entries in the order of the file, and what is to be told about it."""

    name: str
    entries: tuple[Entry, ...]
    notes: tuple[Note, ...]
    worker: bool = False
    """It is one of several hosts of a server, and not the first."""

    @property
    def model(self) -> str:
        """The target's checkpoint as it is spelled, empty where none is named."""
        return next((each.value for each in self.entries if each.path == ("target", "checkpoint")), "")

    @property
    def left_open(self) -> int:
        """Values that somebody has to fill in."""
        return sum(entry.open or entry.remark.startswith("TODO") for entry in self.entries) + len(self.todos)

    @property
    def todos(self) -> tuple[tuple[str, str], ...]:
        """(block, text) of what is to be done and belongs to no line of its own."""
        return tuple(
            dict.fromkeys((note.block, note.text) for note in self.notes if note.todo and note.block)
        )


def import_call(call: Call, facts: EngineFacts | None) -> Imported:
    """The deployment that ``call`` launches."""
    read = read_flags(call.arguments, facts, call.line)
    return from_settings(call, read.settings, (*call.notes, *read.notes), facts)


def from_settings(
    call: Call, settings: Mapping[str, Setting], notes: tuple[Note, ...], facts: EngineFacts | None
) -> Imported:
    """The deployment of ``settings`` in the environment of ``call``."""
    told = list(notes)
    worker = call.worker or _is_worker(settings)
    kept = _without_rank(dict(settings), told, call.line)
    known = {name: one.value for name, one in kept.items()}
    where = places(known)
    entries: list[Entry] = []
    if ("target", "checkpoint") not in where.values():
        entries.append(Entry(("target", "checkpoint"), "TODO", "TODO: the launch names no model"))
        told.append(Note("the launch names no model", call.line, todo=True))
    for name, path in where.items():
        entries.append(_entry(kept[name], path, call, facts, told))
    if DRAFT in kept and ALGORITHM not in kept:
        told.append(
            Note("a draft without --speculative-algorithm is not run; it is kept under server", call.line)
        )
    if isinstance(file := known.get("config"), str):
        text = f"the engine reads further settings from {file}: let the path lead to that file from here"
        told.append(Note(text, call.line, todo=True, block="server"))
    stand_ins = {NODE_RANK, *(name for one in kept.values() if _stands_in(one) for name in one.unknown)}
    stand_ins |= {variable_of(name) for name in kept}
    for variable, value in sorted(call.environment.items()):
        if not (variable in stand_ins and value.text == handed_on(variable)):
            entries.append(_variable(variable, value, told, call.line))
    version, about = nccl_of(call)
    entries += [Entry(("hardware", "nccl_version"), version, f"from {about}")] if version else []
    if about and not version:
        told.append(Note(about, call.line, todo=True, block="hardware"))
    return Imported(call.name, tuple(entries), tuple(dict.fromkeys(told)), worker)


def _is_worker(settings: Mapping[str, Setting]) -> bool:
    rank, nodes = settings.get("node_rank"), settings.get("nnodes")
    return (
        rank is not None
        and isinstance(rank.value, int)
        and rank.value > 0
        and nodes is not None
        and nodes.value != 1
    )


def _without_rank(settings: dict[str, Setting], told: list[Note], line: int) -> dict[str, Setting]:
    """Which of the hosts it is differs from one to the next, so that no file for all of them can say it."""
    nodes, rank = settings.get("nnodes"), settings.get("node_rank")
    if rank is not None and (rank.unknown or (nodes is not None and nodes.value != 1)):
        told.append(Note("--node-rank is left out: it differs from host to host", line))
        del settings["node_rank"]
    return settings


def _entry(one: Setting, path: KeyPath, call: Call, facts: EngineFacts | None, told: list[Note]) -> Entry:
    flag = facts.flags.get(one.name) if facts is not None else None
    variable = variable_of(one.name)
    if isinstance(one.value, str) and one.value and one.value != handed_on(variable):
        secret = is_secret_flag(one.name, flag.type if flag is not None else "")
        if secret or (not one.unknown and is_secret_value(one.value)):
            told.append(
                Note(
                    f"--{one.name.replace('_', '-')} is a secret: it is not copied but read from {variable}",
                    call.line,
                )
            )
            return Entry(path, handed_on(variable), f"a secret: whoever launches has it in {variable}")
    if one.unknown and not _stands_in(one):
        names = guarded(", ".join(_whose(name, call.environment) for name in one.unknown))
        told.append(Note(f"--{one.name.replace('_', '-')} is not known: {names}", call.line, todo=True))
        remark = f"TODO: {names} is not known here"
        return _left_open(one, _block_of(one.name, path), remark)
    if not _writable(one.value):
        told.append(Note(f"--{one.name.replace('_', '-')} holds a control character", call.line, todo=True))
        return _left_open(one, path, "TODO: holds a control character")
    number = flag is not None and flag.type in ("int", "float")
    if not one.unknown:
        told += _letters(f"--{one.name.replace('_', '-')}", one.value, call.line, number=number)
    if one.name in CHECKPOINTS and isinstance(one.value, str) and not one.unknown:
        there = from_folder(call.folder, one.value)
        if there:
            remark = f"{one.value} in {call.folder}, where the script goes"
            one = Setting(one.name, there, remark=one.remark or remark)
    if one.name in CHECKPOINTS and call.contained and str(one.value).startswith(("/", ".")):
        host = on_the_host(str(one.value), call.mounts)
        there = "" if host == one.value else f": {host} on the host" if host else ", not the host"
        return Entry(path, one.value, f"as the container sees it{there}" if there else one.remark)
    return Entry(path, one.value, one.remark)


def _whose(name: str, environment: Mapping[str, Text]) -> str:
    """``name`` of what is not known; a variable of the server's own, which is known, is not meant by it."""
    own = environment.get(name)
    return f"{name} (of whoever launches, not of env)" if own is not None and not own.unknown else name


def _left_open(one: Setting, path: KeyPath, remark: str) -> Entry:
    shown = one.value if _writable(one.value) else json.dumps(one.value)
    if isinstance(shown, str):
        shown = guarded(shown)
    return Entry(path, shown, remark, open=one.name not in SHOWN_UNKNOWN)


def _block_of(name: str, path: KeyPath) -> KeyPath:
    """Where the setting belongs once its value is known."""
    if name in Parallel.__annotations__:
        return ("parallel", name)
    key = name.removeprefix("speculative_")
    return ("speculative", key) if key != name and key in Speculative.__annotations__ else path


def _stands_in(one: Setting) -> bool:
    """Whether what is not known are the variables that stand in for values that no form writes."""
    values = one.value if isinstance(one.value, list) else [one.value]
    names = {variable_of(one.name), *(variable_of(one.name, number) for number in range(1, len(values) + 1))}
    return set(one.unknown) <= names and all(
        value == handed_on(name) for value in values for name in one.unknown if name in str(value)
    )


def _variable(name: str, value: Text, told: list[Note], line: int) -> Entry:
    path = _variable_path(name)
    if value.text == handed_on(name) and value.unknown == (name,):
        if not is_secret_name(name):
            told.append(Note(f"{name} is handed on from whoever launches", line))
        return Entry(path, value.text, "handed on from whoever launches")
    if value.text and (is_secret_name(name) or (not value.unknown and is_secret_value(value.text))):
        told.append(
            Note(f"{name} is a secret: its value is not copied but handed on from whoever launches", line)
        )
        return Entry(path, handed_on(name), "a secret, handed on from whoever launches")
    literal = value.text == handed_on(name)  # which would be handed on if it were written so
    if value.unknown or literal or not _writable(value.text) or not VARIABLE.fullmatch(name):
        why = (
            f"{guarded(', '.join(value.unknown))} is not known here"
            if value.unknown
            else "it cannot be written here"
        )
        told.append(Note(f"{name} is left out: {why}", line, todo=True))
        return Entry(path, guarded(value.text), f"TODO: {why}", open=True)
    told += _letters(name, value.text, line)
    return Entry(path, value.text)


def _letters(shown: str, value: Any, line: int, *, number: bool = False) -> list[Note]:
    """What is to be told of a value that looks as if a shell had to expand it, and none does.

    Where the engine wants a ``number`` it is none, and the launch as it stands ends there.
    """
    found = reference_in(value) if isinstance(value, str) else None
    if found is None or found.kind not in ("variable", "command"):
        return []
    text = f"{shown} holds {guarded(found.part)}, which no shell expands there: it is kept as these letters"
    if number:
        return [Note(f"{text}, and the engine wants a number", line, todo=True, block="server")]
    return [Note(text, line)]


def _variable_path(name: str) -> KeyPath:
    key = name.removeprefix("NCCL_").lower()
    if name.startswith("NCCL_") and key and environment_name(key) == name:
        return ("nccl", key)
    return ("env", name)


def _writable(value: Any) -> bool:
    """Whether a config can hold the value: its reader refuses control characters."""
    if isinstance(value, str):
        return control_in_value(value) is None and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, Mapping):
        return all(_writable(str(key)) and _writable(item) for key, item in value.items())
    return all(map(_writable, value)) if isinstance(value, list) else True
