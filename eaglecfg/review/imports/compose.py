"""Server launches in the services of a compose file."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.errors import UsageError
from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.defaults import of_defaults
from eaglecfg.review.imports.interpolation import compose, compose_words
from eaglecfg.review.imports.mounts import Mount, short_form
from eaglecfg.review.imports.pins import Pin
from eaglecfg.review.imports.shell_state import Default
from eaglecfg.review.imports.text import Note, Text, not_known
from eaglecfg.review.imports.yaml_source import Part
from eaglecfg.source.span import KeyPath

_TAKEN = frozenset(("image", "command", "entrypoint", "environment", "container_name", "extends"))
LONGEST_CHAIN = 20
"""Services that extend each other."""

_OF_NO_INTEREST = frozenset(("restart", "tty", "stdin_open", "labels", "logging", "profiles", "init"))


def calls_of_compose(part: Part) -> Iterator[Call]:
    """The launches in the services of a compose file."""
    services = part.value(("services",))
    other = next((key for key in ("include",) if part.value((key,)) is not None), "")
    for name in services if isinstance(services, dict) else ():
        for call in _service(part, name) if isinstance(services[name], dict) else ():
            if other:
                note = Note(
                    f"{other} is not read: it may change the service", part.at((other,)), True, "deployment"
                )
                call = replace(call, notes=(*call.notes, note))
            yield call


def _service(part: Part, name: str) -> Iterator[Call]:
    told: list[Note] = []
    chain = _chain(part, name, told)
    command_at, entrypoint_at = _with(part, chain, "command"), _with(part, chain, "entrypoint")
    words = [*_words(part, entrypoint_at, told), *_words(part, command_at, told)]
    if not words:
        return
    environment: dict[str, Text] = {}
    for at in reversed(chain):
        environment |= _environment(part, (*at, "environment"), told)
    unread = ""
    for at in chain:
        told += _left_out(part, at)
        unread = f"{at[1]}.env_file" if part.value((*at, "env_file")) else unread
    command = Command(tuple(words), environment, part.at(command_at), unread)
    image, defaults = compose(part.text(_with(part, chain, "image")))
    told += _of_defaults(defaults, part.at(_with(part, chain, "image")))
    builds = any(part.value((*at, "build")) is not None for at in chain)
    built = (Pin("", f"services.{name}.build"),) if builds else ()
    for call in calls_of_command(command):
        yield replace(
            call,
            name=call.name or name,
            image=call.image or image.text,
            contained=True,
            mounts=tuple(mount for at in reversed(chain) for mount in _mounts(part, (*at, "volumes"))),
            notes=(*told, *call.notes),
            pins=(*built, *call.pins),
        )


def _chain(part: Part, name: str, told: list[Note]) -> list[KeyPath]:
    """The service, the one that it extends, and so on. Raises UsageError where they extend each other."""
    chain: list[KeyPath] = [("services", name)]
    while True:
        at = chain[-1]
        given = part.value((*at, "extends"))
        if given is None:
            return chain
        other = part.text((*at, "extends", "service") if isinstance(given, dict) else (*at, "extends"))
        following: KeyPath = ("services", other)
        if isinstance(given, dict) and "file" in given:
            text = f"extends takes {other} of {part.text((*at, 'extends', 'file'))}, which is not read"
            told.append(Note(text, part.at((*at, "extends")), True, "deployment"))
            return chain
        if following in chain or len(chain) > LONGEST_CHAIN:
            raise UsageError(
                f"line {part.at((*at, 'extends'))}: services.{name} extends itself, or too many others"
            )
        if not isinstance(part.value(following), dict):
            text = f"extends takes {other}, which this file does not have"
            told.append(Note(text, part.at((*at, "extends")), True, "deployment"))
            return chain
        chain.append(following)


def _with(part: Part, chain: list[KeyPath], key: str) -> KeyPath:
    """The place of ``key``: that of the first service in the chain that has it."""
    return next(((*at, key) for at in chain if part.value((*at, key)) is not None), (*chain[0], key))


def _left_out(part: Part, at: KeyPath) -> list[Note]:
    told = []
    shown = f"services.{at[1]}"
    for key in part.value(at):
        line = part.at((*at, key))
        if key == "env_file" and not part.value((*at, key)):
            continue
        if key == "env_file":
            told.append(Note(f"{shown}.env_file is not read: its variables are not known", line, True, "env"))
        elif key not in _TAKEN and key not in _OF_NO_INTEREST:
            told.append(Note(f"left out: {shown}.{key}", line))
    return told


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
    return of_defaults({name: Default(text, "") for name, text in defaults.items()}, line=line)


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
