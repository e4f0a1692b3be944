"""The server launch in a systemd unit: ExecStart with the unit's environment, in systemd's own dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command, mentions
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.shell_tokens import Tokens
from eaglecfg.review.imports.text import Note, Text, guarded, joined, not_known

SECTION = re.compile(r"^\[(?:Unit|Service|Install|Socket|Timer)\][ \t]*\r?$", re.M)
_SPECIFIER = re.compile(r"%(.)")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$(\$)|\$([A-Za-z_][A-Za-z0-9_]*)")
_STARTS = ("ExecStart",)
_OF_NO_INTEREST = frozenset(("Type", "RemainAfterExit", "SyslogIdentifier", "GuessMainPID", "PIDFile"))
_ABOUT_STOPPING = ("Restart", "Timeout", "Kill", "ExecStop", "Standard", "Start", "Success", "SendSIG")


def calls_of_unit(text: str) -> Iterator[Call]:
    """The launches that the unit's ExecStart lines are."""
    environment: dict[str, Text] = {}
    notes: list[Note] = []
    unread = ""
    starts: list[tuple[str, int]] = []
    for key, value, line in _settings(text):
        if key == "Environment":
            environment = environment | _assigned(value, line) if value else {}
        elif key == "PassEnvironment":
            environment |= {name: not_known(name) for name in value.split()}
        elif key == "UnsetEnvironment":
            for name in value.split():
                environment.pop(name.partition("=")[0], None)
        elif key == "EnvironmentFile" and value:
            shown = unread = value.removeprefix("-")
            notes.append(
                Note(f"{shown} is not read: the variables that it sets are not known here", line, True, "env")
            )
        elif key == "WorkingDirectory":
            notes.append(Note(f"the unit runs in {value}: relative paths count from there", line))
        elif key in _STARTS:
            starts = [*starts, (value, line)] if value else []
        elif mentions(value):
            notes.append(Note(f"{key} mentions a server and is not read as a launch", line))
        elif value and key not in _OF_NO_INTEREST and not key.startswith(_ABOUT_STOPPING):
            notes.append(Note(f"left out: {key}={guarded(value)} of the unit", line))
    for value, line in starts:
        words = _words(value.lstrip("@-:+!| "), line, environment)
        for call in calls_of_command(Command(tuple(words), environment, line, unread)):
            yield replace(call, notes=(*notes, *call.notes))


def _settings(text: str) -> Iterator[tuple[str, str, int]]:
    """(key, value, line) of the section [Service], continued lines joined."""
    section, held, began = "", "", 0
    for number, row in enumerate(text.split("\n"), 1):
        row = row.rstrip("\r")
        if held and row.lstrip()[:1] in ("#", ";"):
            continue
        if not held:
            began = number
            if row.lstrip()[:1] in ("#", ";"):
                continue
        held += row
        if held.endswith("\\"):
            held = held[:-1] + " "
            continue
        if held.startswith("["):
            section = held.strip()
        elif section == "[Service]" and "=" in held:
            key, _, value = held.partition("=")
            yield key.strip(), value.strip(), began
        held = ""


def _tokens(value: str, line: int) -> list[str]:
    """The words of a value: quotes hold them together. Dollars mean nothing to this splitting."""
    words = []
    for token in Tokens(value.replace("$", _DOLLAR).replace("`", _TICK), line).read():
        word = token.operator or "".join(part.text for part in token.parts)
        if word != "\n":
            words.append(word.replace(_DOLLAR, "$").replace(_TICK, "`"))
    return words


_DOLLAR, _TICK = "\ue002", "\ue003"


def _assigned(value: str, line: int) -> dict[str, Text]:
    out = {}
    for word in _tokens(value, line):
        name, equals, text = word.partition("=")
        if equals:
            out[name] = _specified(text)
    return out


def _words(value: str, line: int, environment: Mapping[str, Text]) -> list[Text]:
    """The words of a command. ``$NAME`` alone is split into words, ``${NAME}`` never."""
    out: list[Text] = []
    for word in _tokens(value, line):
        alone = re.fullmatch(r"\$([A-Za-z_][A-Za-z0-9_]*)", word)
        known = environment.get(alone[1]) if alone else None
        if known is not None and not known.unknown:
            out += [Text(each) for each in known.text.split()]
            continue
        pieces, at = [], 0
        for found in _VARIABLE.finditer(word):
            name = found[1] or found[3]
            pieces.append(_specified(word[at : found.start()]))
            pieces.append(environment.get(name, not_known(name)) if name else Text("$"))
            at = found.end()
        out.append(joined([*pieces, _specified(word[at:])]))
    return out


def _specified(text: str) -> Text:
    """``text`` with its ``%`` specifiers, which only systemd can tell."""
    unknown = tuple(dict.fromkeys(found[0] for found in _SPECIFIER.finditer(text) if found[1] != "%"))
    return Text(text if unknown else text.replace("%%", "%"), unknown)
