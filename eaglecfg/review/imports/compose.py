"""Server launches in the services of a compose file."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command
from eaglecfg.review.imports.interpolation import compose, compose_words
from eaglecfg.review.imports.mounts import Mount, short_form
from eaglecfg.review.imports.shell_script import Command
from eaglecfg.review.imports.text import Note, Text, not_known
from eaglecfg.review.imports.yaml_source import Part
from eaglecfg.source.span import KeyPath

_TAKEN = frozenset(("image", "command", "entrypoint", "environment", "container_name"))
_OF_NO_INTEREST = frozenset(("restart", "tty", "stdin_open", "labels", "logging", "profiles", "init"))


def calls_of_compose(part: Part) -> Iterator[Call]:
    """The launches in the services of a compose file."""
    services = part.value(("services",))
    for name in services if isinstance(services, dict) else ():
        if isinstance(services[name], dict):
            yield from _service(part, name)


def _service(part: Part, name: str) -> Iterator[Call]:
    at: KeyPath = ("services", name)
    told: list[Note] = []
    words = [*_words(part, (*at, "entrypoint"), told), *_words(part, (*at, "command"), told)]
    if not words:
        return
    environment = _environment(part, (*at, "environment"), told)
    command = Command(tuple(words), environment, part.at((*at, "command")))
    for key in part.value(at):
        if key == "env_file":
            told.append(
                Note(
                    f"services.{name}.env_file is not read: its variables are not known", part.at((*at, key))
                )
            )
        elif key == "extends":
            told.append(Note(f"services.{name}.extends is not followed", part.at((*at, key)), todo=True))
        elif key not in _TAKEN and key not in _OF_NO_INTEREST:
            told.append(Note(f"left out: services.{name}.{key}", part.at((*at, key))))
    image, _ = compose(part.text((*at, "image")))
    for call in calls_of_command(command):
        yield replace(
            call,
            name=call.name or name,
            image=call.image or image.text,
            contained=True,
            mounts=_mounts(part, (*at, "volumes")),
            notes=(*told, *call.notes),
        )


def _mounts(part: Part, path: KeyPath) -> tuple[Mount, ...]:
    items = part.value(path)
    found: list[Mount | None] = []
    for index in range(len(items)) if isinstance(items, list) else ():
        at = (*path, index)
        if isinstance(part.value(at), dict):
            host, inside = part.text((*at, "source")), part.text((*at, "target"))
            found.append(Mount(host, inside) if part.text((*at, "type")) == "bind" and host else None)
        else:
            found.append(short_form(part.text(at)))
    return tuple(mount for mount in found if mount is not None)


def _words(part: Part, path: KeyPath, told: list[Note]) -> list[Text]:
    value = part.value(path)
    if isinstance(value, list):
        return [_interpolated(part.text((*path, index)), told, part.at(path)) for index in range(len(value))]
    text = part.text(path)
    if not text.strip():
        return []
    words, defaults = compose_words(text, part.at(path))
    told += _of_defaults(defaults, part.at(path))
    return words


def _interpolated(text: str, told: list[Note], line: int) -> Text:
    value, defaults = compose(text)
    told += _of_defaults(defaults, line)
    return value


def _of_defaults(defaults: dict[str, str], line: int) -> list[Note]:
    return [Note(f"${name} is taken as {default!r}, its default", line) for name, default in defaults.items()]


def _environment(part: Part, path: KeyPath, told: list[Note]) -> dict[str, Text]:
    value = part.value(path)
    out: dict[str, Text] = {}
    if isinstance(value, dict):
        for name, item in value.items():
            handed = item is None and not part.text((*path, name))
            out[name] = (
                not_known(name)
                if handed
                else _interpolated(part.text((*path, name)), told, part.at((*path, name)))
            )
    elif isinstance(value, list):
        for index in range(len(value)):
            item = _interpolated(part.text((*path, index)), told, part.at((*path, index)))
            name, equals, text = item.text.partition("=")
            out[name] = Text(text, item.unknown) if equals else not_known(name)
    return out
