"""The server launch in a Dockerfile's last ENTRYPOINT and CMD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command
from eaglecfg.review.imports.shell_script import Command
from eaglecfg.review.imports.shell_state import State, expand_all
from eaglecfg.review.imports.shell_tokens import Tokens
from eaglecfg.review.imports.text import Note, Text

INSTRUCTION = re.compile(r"^[ \t]*([A-Za-z]+)[ \t]+((?:[^\n\\]|\\(?:\r?\n|.))*)", re.M)
_COMMENT = re.compile(r"(?<=\\\n)(?:[ \t]*#[^\n]*\n)+")
"""Comments between the lines of one instruction, which Docker takes out."""


@dataclass(slots=True)
class _Stage:
    image: str
    state: State
    parts: dict[str, list[Text]]


def calls_of_dockerfile(text: str) -> Iterator[Call]:
    """The launch that the image starts by itself."""
    given = State()
    stages: dict[str, _Stage] = {}
    stage = _Stage("", State(), {})
    line = 0
    text = _COMMENT.sub(lambda found: "\\\n" * found[0].count("\n"), text.replace("\r\n", "\n"))
    for found in INSTRUCTION.finditer(text):
        word, rest = found[1].upper(), re.sub(r"\\\r?\n", " ", found[2]).strip()
        line = text.count("\n", 0, found.start(1)) + 1
        if word == "FROM":
            stage = _stage(rest, given, stages)
        elif word == "ARG" and not stage.image:
            _assign(rest, given, exported=False)
        elif word in ("ENV", "ARG"):
            if word == "ARG" and "=" not in rest and (value := given.variables.get(rest)) is not None:
                stage.state.variables[rest] = value
            _assign(rest, stage.state, exported=word == "ENV")
        elif word in ("ENTRYPOINT", "CMD"):
            stage.parts[word] = _words(rest)
            if word == "ENTRYPOINT":
                stage.parts.pop("CMD", None)  # an older CMD is dropped with it
    words = [*stage.parts.get("ENTRYPOINT", ()), *stage.parts.get("CMD", ())]
    for call in calls_of_command(Command(tuple(words), stage.state.environment(), line)):
        note = Note("what docker run adds to the image's command is not known here", line)
        yield replace(call, image=call.image or stage.image, contained=True, notes=(note, *call.notes))


def _stage(rest: str, given: State, stages: dict[str, _Stage]) -> _Stage:
    """What ``FROM`` begins: another stage's state, or an image by name."""
    words = [
        one.text for one in expand_all([each for each in Tokens(rest).read() if not each.operator], given)
    ]
    words = [word for word in words if not word.startswith("--")]
    image = words[0] if words else ""
    base = stages.get(image.lower())
    if base is None:
        stage = _Stage(image, State(), {})
    else:
        stage = _Stage(base.image, base.state.copy(), dict(base.parts))
    if len(words) == 3 and words[1].lower() == "as":
        stages[words[2].lower()] = stage
    return stage


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
