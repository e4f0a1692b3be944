"""The server launch in a systemd unit: ExecStart with the unit's environment, in systemd's own dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command, mentions
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.systemd_words import commands_of, specified, words_of
from eaglecfg.review.imports.text import Note, Text, guarded, not_known

SECTION = re.compile(r"^\[(?:Unit|Service|Install|Socket|Timer)\][ \t]*\r?$", re.M)
_NOT_EXPANDED = re.compile(r"\$([A-Za-z_]\w*)")
_STARTS = ("ExecStart",)
_OF_NO_INTEREST = frozenset(("Type", "RemainAfterExit", "SyslogIdentifier", "GuessMainPID", "PIDFile"))
_ABOUT_STOPPING = ("Restart", "Timeout", "Kill", "ExecStop", "Standard", "Start", "Success", "SendSIG")


def calls_of_unit(text: str) -> Iterator[Call]:
    """The launches that the unit's ExecStart lines are."""
    environment: dict[str, Text] = {}
    passed: dict[str, Text] = {}
    gone: list[str] = []
    files: dict[str, int] = {}
    notes: list[Note] = []
    starts: list[tuple[str, int]] = []
    for key, value, line in _settings(text):
        if key == "Environment":
            environment = environment | _assigned(value, line) if value else {}
        elif key == "PassEnvironment":
            passed = passed | {name: not_known(name) for name in value.split()} if value else {}
        elif key == "UnsetEnvironment":
            gone = [*gone, *(word or "" for word in words_of(value, line))] if value else []
        elif key == "EnvironmentFile":
            files = {**files, value.removeprefix("-"): line} if value else {}
        elif key == "WorkingDirectory":
            notes.append(Note(f"the unit runs in {value}: relative paths count from there", line))
        elif key in _STARTS:
            starts = [*starts, (value, line)] if value else []
        elif mentions(value):
            notes.append(Note(f"{key} mentions a server and is not read as a launch", line))
        elif value and key not in _OF_NO_INTEREST and not key.startswith(_ABOUT_STOPPING):
            notes.append(Note(f"left out: {key}={guarded(value)} of the unit", line))
    also = ", and they replace those of Environment=" if environment else ""
    for file, line in files.items():
        what = f"{guarded(file)} is not read: the variables that it sets are not known here{also}"
        notes.append(Note(what, line, True, "env"))
    # In this order, whatever the order of the lines. See systemd.exec(5), UnsetEnvironment=.
    environment = _without(passed | environment, gone)
    for value, line in starts:
        for words in commands_of(value, line, environment):
            command = Command(tuple(words), environment, line, ", ".join(map(guarded, files)))
            for call in calls_of_command(command):
                kept = [_kept_letters(each, line) for each in call.arguments if each in words]
                yield replace(call, notes=(*notes, *call.notes, *(note for note in kept if note)))


def _kept_letters(word: Text, line: int) -> Note | None:
    """What is to be told of a word with a variable that systemd leaves as it is spelled."""
    found = _NOT_EXPANDED.search(word.text)
    if found is None or word.unknown:
        return None
    name = found[1]
    text = f"systemd expands ${{{name}}} inside a word, and not ${name}: the server gets these letters"
    return Note(text, line, todo=True, block="server")


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


def _assigned(value: str, line: int) -> dict[str, Text]:
    out = {}
    for word in words_of(value, line):
        name, equals, text = (word or "").partition("=")
        if equals:
            out[name] = specified(text)
    return out


def _without(environment: dict[str, Text], gone: list[str]) -> dict[str, Text]:
    """The environment without what UnsetEnvironment names, alone or with its value."""
    return {
        name: value
        for name, value in environment.items()
        if name not in gone and f"{name}={value.text}" not in gone
    }
