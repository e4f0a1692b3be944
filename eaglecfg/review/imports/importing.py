"""A launch that exists to the text of an eaglecfg.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.errors import UsageError
from eaglecfg.record import record, replace
from eaglecfg.review.imports import server_info
from eaglecfg.review.imports.calls import Call
from eaglecfg.review.imports.deployment import Imported, from_settings, import_call
from eaglecfg.review.imports.document import EngineVersion, problems, write
from eaglecfg.review.imports.names import distinct, name_of_model, plain_name
from eaglecfg.review.imports.source import find_calls, kind_of
from eaglecfg.review.imports.text import Note
from eaglecfg.review.render.header import Origin, origin_of

ENGINE = "sglang"


@record
class Result:
    """The file, what is to be told about it, and how many values somebody has to fill in."""

    text: str
    notes: tuple[Note, ...]
    left_open: int
    deployments: tuple[str, ...]


def import_text(
    text: str,
    shown: str,
    *,
    engine_version: str | None = None,
    schema: str | None = None,
    running: bool = False,
) -> Result:
    """Import what ``text`` launches. Pure. ``shown`` names it in messages and in the file.

    ``running``: it is the answer of a running server, whatever it looks like. Raises UsageError where it does
    not parse or launches no server.
    """
    if running or kind_of(text) == "server info":
        return _import_info(text, shown, engine_version, schema)
    found = find_calls(text, shown)
    origin = origin_of(text)
    engine = _engine(engine_version, origin, found.calls)
    facts = load_facts(ENGINE, engine.version)
    imported = [import_call(call, facts) for call in found.calls]
    named = _without_repeats(imported, found.calls, origin)
    return _result(named, found.notes, engine, shown, schema)


def _import_info(text: str, shown: str, engine_version: str | None, schema: str | None) -> Result:
    info = server_info.parse_info(text, shown)
    told = server_info.version_of(info)
    engine = (
        _engine(engine_version, None, ())
        if engine_version or not told
        else EngineVersion(told, "as the server says")
    )
    facts = load_facts(ENGINE, engine.version) or load_facts(ENGINE, known_versions(ENGINE)[-1])
    assert facts is not None
    settings, notes = server_info.settings_of(info, facts)
    remark = Note("settings are as they run: some may be the engine's own choice rather than given")
    call = Call((), {})
    one = from_settings(call, settings, (remark, *notes), facts)
    name = plain_name(str(info.get("served_model_name") or "").rpartition("/")[2]) or name_of_model(one.model)
    return _result([replace(one, name=name)], (), engine, shown, schema)


def _result(
    deployments: Sequence[Imported],
    notes: Sequence[Note],
    engine: EngineVersion,
    shown: str,
    schema: str | None,
) -> Result:
    text = write(deployments, engine, shown, schema)
    several = len(deployments) > 1
    told = list(notes)
    if engine.remark.startswith("TODO"):
        told.append(Note(f"no version is named: {engine.version} is written, --engine-version names another"))
    for each in deployments:
        prefix = f"{each.name}: " if several else ""
        told += [replace(note, text=prefix + note.text) for note in each.notes]
    wrong = [Note(f"the file does not load: {message}", todo=True) for message in problems(text)]
    left_open = sum(each.left_open for each in deployments) + len(wrong)
    return Result(
        text, tuple(dict.fromkeys((*told, *wrong))), left_open, tuple(each.name for each in deployments)
    )


def _engine(asked: str | None, origin: Origin | None, calls: Sequence[Call]) -> EngineVersion:
    """The engine's version: as asked, as the rendering says, as an image's tag, or the newest known."""
    if asked is not None:
        if load_facts(ENGINE, asked) is None:
            raise UsageError(f"--engine-version: a version such as 0.5.14 is expected, got {asked!r}")
        return EngineVersion(asked)
    if origin is not None and origin.engine == ENGINE:
        return EngineVersion(origin.version)
    for call in calls:
        tag = re.fullmatch(r".*:v?(\d+\.\d+\.\d+[A-Za-z0-9.]*)([-_][\w.-]+)?(@sha256:\w+)?", call.image)
        if tag and load_facts(ENGINE, tag[1]) is not None:
            return EngineVersion(tag[1], f"from the image {call.image}")
    newest = known_versions(ENGINE)[-1]
    return EngineVersion(
        newest, "TODO: nothing says which version runs; this is the newest that eaglecfg knows"
    )


def _without_repeats(
    imported: Sequence[Imported], calls: Sequence[Call], origin: Origin | None
) -> list[Imported]:
    """One of each: the hosts of one server are launched alike. Each with a name of its own."""
    kept: dict[object, Imported] = {}
    for each, call in zip(imported, calls, strict=True):
        key = tuple((entry.path, repr(entry.value)) for entry in each.entries)
        if key in kept and any(note.text.startswith("--node-rank") for note in each.notes):
            continue
        kept[(key, len(kept)) if key in kept else key] = replace(each, name=call.name)
    every = list(kept.values())
    if origin is not None and len(every) == 1:
        return [replace(every[0], name=origin.deployment)]
    names = distinct(
        plain_name(each.name) or _served_name(each) or name_of_model(each.model) for each in every
    )
    return [replace(each, name=name) for each, name in zip(every, names, strict=True)]


def _served_name(one: Imported) -> str:
    value = next((each.value for each in one.entries if each.path == ("server", "served_model_name")), "")
    return plain_name(str(value).rpartition("/")[2]) if not str(value).startswith("$") else ""
