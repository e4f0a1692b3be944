"""A launch that exists to the text of an eaglecfg.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.errors import UsageError
from eaglecfg.record import record, replace
from eaglecfg.review.imports import server_info
from eaglecfg.review.imports.calls import Call
from eaglecfg.review.imports.deployment import Imported, from_settings, import_call
from eaglecfg.review.imports.document import EngineVersion, problems, write
from eaglecfg.review.imports.names import distinct, name_of_model, plain_name
from eaglecfg.review.imports.pins import Pin, deciding, of_package, sources, version_of
from eaglecfg.review.imports.source import find_calls, kind_of
from eaglecfg.review.imports.text import Note
from eaglecfg.review.render.header import Origin, origin_of
from eaglecfg.source.span import KeyPath, show_path

ENGINE = "sglang"
BYTE_ORDER_MARK = "\ufeff"


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
    only: str | None = None,
) -> Result:
    """Import what ``text`` launches. Pure. ``shown`` names it in messages and in the file.

    ``running``: it is the answer of a running server, whatever it looks like. ``only`` names the one
    deployment to import. Raises UsageError where it does not parse or launches no server, and for servers of
    several engine versions, which no one file can say.
    """
    if running or kind_of(text) == "server info":
        return _import_info(text.removeprefix(BYTE_ORDER_MARK), shown, engine_version, schema)
    marks = _unseen(text) if kind_of(text) == "command" else ()
    found = find_calls(text.removeprefix(BYTE_ORDER_MARK), shown)
    origin = origin_of(text)
    calls = found.calls
    names = _named(calls, origin, load_facts(ENGINE, known_versions(ENGINE)[-1]))
    if only is not None:
        calls = tuple(
            replace(call, name=only) for call, name in zip(calls, names, strict=True) if name == only
        )
        if not calls:
            known = ", ".join(dict.fromkeys(names))
            raise UsageError(f"{shown}: --only names one of its deployments ({known}), got {only!r}")
        names = [only] * len(calls)
    engine = _engine(engine_version, origin, calls, names, shown)
    facts = load_facts(ENGINE, engine.version)
    if engine_version is None and engine.remark.startswith("from"):
        calls = tuple(_with_version(call, engine.version) for call in calls)
    imported = [import_call(call, facts) for call in calls]
    named = _without_repeats(imported, calls, origin)
    return _result(named, (*marks, *found.notes), engine, shown, schema)


def _unseen(text: str) -> tuple[Note, ...]:
    """What no editor shows in a script and bash breaks on; it is read as whoever wrote it meant it."""
    notes = []
    if text.startswith(BYTE_ORDER_MARK):
        what = "the script begins with a byte order mark, which bash takes for a part of its first word"
        notes.append(Note(f"{what}: it is read as if it were not there", 1))
    if "\r\n" in text:
        line = text.count("\n", 0, text.index("\r\n")) + 1
        what = "lines end in CR LF, and bash takes the CR for a part of the last word"
        notes.append(Note(f"{what}: they are read as if they ended in LF", line))
    return tuple(notes)


def _named(calls: Sequence[Call], origin: Origin | None, facts: EngineFacts | None) -> list[str]:
    """The name of the deployment that each call would become."""
    imported = [import_call(call, facts) for call in calls]
    return _names([replace(each, name=call.name) for each, call in zip(imported, calls, strict=True)], origin)


def _with_version(call: Call, version: str) -> Call:
    """The call, with a remark where another one names the version and its own image does not."""
    if _version_of(call):
        return call
    image = f"its image {call.image}" if call.image else "no image"
    text = f"{image} tells the engine's version here; the file's {version} is another deployment's"
    text = text.replace("tells", "does not tell", 1) if call.image else text
    if pins := _pins(call):
        text = f"{deciding(pins)} the engine's version here; the file's {version} is another deployment's"
    return replace(call, notes=(*call.notes, Note(text, call.line, todo=True, block="deployment")))


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
    one = from_settings(Call((), {}), settings, notes, facts)
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
        why = engine.remark.removeprefix("TODO: ").partition(";")[0]
        remark = f"{why}: {engine.version} is written, --engine-version names another"
        told.append(Note(remark, todo=True))
    for each in deployments:
        prefix = f"{each.name}: " if several else ""
        told += [replace(note, text=prefix + note.text) for note in each.notes]
    wrong = [Note(f"the file does not load: {message}", todo=True) for message in problems(text)]
    left_open = sum(each.left_open for each in deployments) + len(wrong) + engine.remark.startswith("TODO")
    return Result(
        text, tuple(dict.fromkeys((*told, *wrong))), left_open, tuple(each.name for each in deployments)
    )


def _version_of(call: Call) -> str:
    """The version that is installed in front of the call, or that its image's tag names; empty for none."""
    if pins := _pins(call):
        return version_of(pins)
    if "sgl" not in call.image.lower():
        return ""  # the version of something else
    tag = re.fullmatch(r".*:v?(\d+\.\d+\.\d+[A-Za-z0-9.]*)([-_][\w.-]+)?(@sha256:\w+)?", call.image)
    return tag[1] if tag and load_facts(ENGINE, tag[1]) is not None else ""


def _engine(
    asked: str | None,
    origin: Origin | None,
    calls: Sequence[Call],
    names: Sequence[str] = (),
    shown: str = "",
) -> EngineVersion:
    """The engine's version: as asked, as the rendering says, as an image's tag, or the newest known."""
    if asked is not None:
        if load_facts(ENGINE, asked) is None:
            raise UsageError(f"--engine-version: a version such as 0.5.14 is expected, got {asked!r}")
        return EngineVersion(asked)
    if origin is not None and origin.engine == ENGINE:
        return EngineVersion(origin.version)
    told = {version: call for call in reversed(calls) if (version := _version_of(call))}
    if len(told) > 1:
        which = "; ".join(
            f"{version}: "
            + ", ".join(name for call, name in zip(calls, names, strict=True) if _version_of(call) == version)
            for version in reversed(told)
        )
        raise UsageError(
            f"{shown}: a file holds one engine version, and these launches have several ({which}); "
            "import each with --only NAME, or name a version for all with --engine-version"
        )
    for version, call in told.items():
        source = next(
            (pin.text for pin in of_package(call.pins, "engine") if pin.version), f"the image {call.image}"
        )
        return EngineVersion(version, f"from {source}")
    newest = known_versions(ENGINE)[-1]
    pins = [pin for call in calls for pin in _pins(call)]
    why = f"{deciding(pins)} which version runs" if pins else "nothing says which version runs"
    return EngineVersion(newest, f"TODO: {why}; this is the newest that eaglecfg knows")


def _pins(call: Call) -> tuple[Pin, ...]:
    """What decides the version of ``call`` beside its image's tag, in the order in which it counts."""
    return (*of_package(call.pins, "engine"), *sources(call.environment, call.mounts))


def _without_repeats(
    imported: Sequence[Imported], calls: Sequence[Call], origin: Origin | None
) -> list[Imported]:
    """One of each: the hosts of one server are launched alike. Each with a name of its own."""
    kept: dict[object, Imported] = {}
    workers: list[Imported] = []
    for each, call in zip(imported, calls, strict=True):
        key = tuple((entry.path, repr(entry.value)) for entry in each.entries)
        if key in kept and any(note.text.startswith("--node-rank") for note in each.notes):
            continue
        if each.worker:
            workers.append(each)
        else:
            kept[(key, len(kept)) if key in kept else key] = replace(each, name=call.name)
    every = list(kept.values())
    for worker in workers:
        at = next((at for at, each in enumerate(every) if _same_server(each, worker)), None)
        if at is None:
            every.append(worker)
        else:
            every[at] = replace(every[at], notes=(*every[at].notes, *_otherwise(every[at], worker)))
    return [replace(each, name=name) for each, name in zip(every, _names(every, origin), strict=True)]


def _names(every: Sequence[Imported], origin: Origin | None) -> list[str]:
    if origin is not None and len(every) == 1:
        return [origin.deployment]
    return distinct(
        plain_name(each.name) or _served_name(each) or name_of_model(each.model) for each in every
    )


def _same_server(leader: Imported, worker: Imported) -> bool:
    """Whether the two are hosts of one server."""
    paths = (("target", "checkpoint"), ("parallel", "nnodes"), ("server", "dist_init_addr"))
    return all(_at(leader, path) == _at(worker, path) for path in paths)


def _at(one: Imported, path: KeyPath) -> object:
    return next((repr(entry.value) for entry in one.entries if entry.path == path), None)


def _otherwise(leader: Imported, worker: Imported) -> list[Note]:
    """What is to be told of another host. Where it listens is its own affair, all else has to agree."""
    notes = []
    own = {("server", "host"), ("server", "port")}
    for path in dict.fromkeys(entry.path for entry in (*leader.entries, *worker.entries)):
        if path not in own and _at(leader, path) != _at(worker, path):
            text = f"{show_path(path)} of another host of this server differs: only the first host's is here"
            notes.append(Note(text, todo=True, block="deployment"))
    if notes:
        return [Note("another host of this server is left out, though it is launched otherwise"), *notes]
    return [Note("another host of this server is left out: it is launched as the first one is")]


def _served_name(one: Imported) -> str:
    value = next((each.value for each in one.entries if each.path == ("server", "served_model_name")), "")
    return plain_name(str(value).rpartition("/")[2]) if not str(value).startswith("$") else ""
