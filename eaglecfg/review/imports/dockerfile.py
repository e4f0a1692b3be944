"""The server launch in a Dockerfile's last ENTRYPOINT and CMD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command
from eaglecfg.review.imports.shell_script import Command
from eaglecfg.review.imports.shell_state import State, expand_all
from eaglecfg.review.imports.shell_tokens import Tokens
from eaglecfg.review.imports.text import Note, Text

INSTRUCTION = re.compile(r"^\s*(FROM|ENV|ARG|ENTRYPOINT|CMD)\s+((?:[^\n\\]|\\(?:\r?\n|.))*)", re.I | re.M)


def calls_of_dockerfile(text: str) -> Iterator[Call]:
    """The launch that the image starts by itself."""
    state = State(all_exported=True)
    image = ""
    parts: dict[str, list[Text]] = {}
    line = 0
    for found in INSTRUCTION.finditer(text):
        word, rest = found[1].upper(), re.sub(r"\\\r?\n", " ", found[2]).strip()
        line = text.count("\n", 0, found.start(1)) + 1
        if word == "FROM":
            image, parts = rest.split()[0] if rest.split() else "", {}
            state = State(all_exported=True)
        elif word in ("ENV", "ARG"):
            _assign(rest, state, exported=word == "ENV")
        else:
            parts[word] = _words(rest)
            if word == "ENTRYPOINT":
                parts.pop("CMD", None)  # an older CMD is dropped with it
    words = [*parts.get("ENTRYPOINT", ()), *parts.get("CMD", ())]
    environment = {name: value for name, value in state.environment().items() if name in state.exported}
    for call in calls_of_command(Command(tuple(words), environment, line)):
        note = Note("what docker run adds to the image's command is not known here", line)
        yield replace(call, image=call.image or image, contained=True, notes=(note, *call.notes))


def _assign(rest: str, state: State, *, exported: bool) -> None:
    if not re.match(r"\S+=", rest) and exported:
        name, _, value = rest.partition(" ")
        rest = f"{name}={json.dumps(value.strip())}"
    for one in expand_all([token for token in Tokens(rest).read() if not token.operator], state):
        name, equals, value = one.text.partition("=")
        if equals and name.isidentifier():
            state.variables[name] = Text(value, one.unknown)
            if exported:
                state.exported.add(name)


def _words(rest: str) -> list[Text]:
    try:
        words = json.loads(rest)
    except ValueError:
        words = None
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        return [Text(word) for word in words]
    return [Text("sh"), Text("-c"), Text(rest)]
