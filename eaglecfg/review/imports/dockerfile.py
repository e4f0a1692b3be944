"""The server launch in a Dockerfile's last ENTRYPOINT and CMD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from eaglecfg.errors import UsageError
from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.defaults import of_defaults
from eaglecfg.review.imports.pins import MAY_INSTALL, Pin, over_the_engine, pins_of_command
from eaglecfg.review.imports.shell_script import follow
from eaglecfg.review.imports.shell_state import Default, State, expand_all
from eaglecfg.review.imports.shell_tokens import Tokens
from eaglecfg.review.imports.text import Note, Text, guarded

INSTRUCTION = re.compile(r"^[ \t]*([A-Za-z]+)[ \t]+((?:[^\n\\]|\\(?:\r?\n|.))*)", re.M)
_COMMENT = re.compile(r"(?<=\\\n)(?:[ \t]*#[^\n]*\n)+")
"""Comments between the lines of one instruction, which Docker takes out."""

_DOCUMENT = re.compile(r"[ \t]*(RUN|COPY|ADD)[ \t].*?<<(-?)['\"]?(\w+)['\"]?", re.I)
_RUN_BY_A_SHELL = re.compile(r"[ \t]*RUN[ \t]+(?:--\S+[ \t]+)*(?:\S*sh(?:[ \t]+-\w+)*[ \t]+)?<<", re.I)
_USED = re.compile(r"\$\{?([A-Za-z_]\w*)")


@dataclass(slots=True)
class _Stage:
    image: str
    state: State
    parts: dict[str, list[Text]]
    pins: tuple[Pin, ...] = ()
    folder: str = ""
    notes: list[Note] = field(default_factory=list)


def calls_of_dockerfile(text: str) -> Iterator[Call]:
    """The launch that the image starts by itself."""
    given = State()
    stages: dict[str, _Stage] = {}
    stage = _Stage("", State(), {})
    line = 0
    notes = [Note("what docker run adds to the image's command is not known here")]
    text = _COMMENT.sub(lambda found: "\\\n" * found[0].count("\n"), text.replace("\r\n", "\n"))
    text, scripts = _without_documents(text)
    used = {found[1] for found in _USED.finditer(text)}
    for found in INSTRUCTION.finditer(text):
        word, rest = found[1].upper(), re.sub(r"\\\r?\n", " ", found[2]).strip()
        line = text.count("\n", 0, found.start(1)) + 1
        if word == "FROM":
            stage = _stage(rest, given, stages)
        elif word == "ENV":
            _assign(rest, stage.state, exported=True)
        elif word == "ARG":
            state = stage.state if stage.image else given
            if "=" not in rest and (value := given.variables.get(rest)) is not None:
                state.variables.setdefault(rest, value)
            for name in _assign(rest, state, exported=False):
                if name in used:
                    value = state.variables[name]
                    state.defaults[name] = Default(value.text if isinstance(value, Text) else "", "")
        elif word in ("ENTRYPOINT", "CMD"):
            stage.parts[word] = _words(rest)
            if word == "ENTRYPOINT":
                stage.parts.pop("CMD", None)  # an older CMD is dropped with it
        elif word == "RUN":
            stage.pins = _installed(f"{rest}\n{scripts.get(line, '')}".strip(), stage)
        elif word in ("COPY", "ADD") and over_the_engine(rest.rpartition(" ")[2].strip('"],')):
            stage.pins = (*stage.pins, Pin("", f"{word} {guarded(rest)[:80]}"))
        elif word == "WORKDIR":
            stage.folder = rest
            stage.notes.append(Note(f"the image runs in {rest}: relative paths count from there", line))
        elif word == "USER":
            stage.notes.append(Note(f"left out: USER {rest} of the image", line))
    words = [*stage.parts.get("ENTRYPOINT", ()), *stage.parts.get("CMD", ())]
    defaults = given.defaults | stage.state.defaults
    notes += [*stage.notes, *of_defaults(defaults, " in the Dockerfile")]
    command = Command(tuple(words), stage.state.environment(), line)
    for call in calls_of_command(command, pins=stage.pins):
        yield replace(call, image=call.image or stage.image, contained=True, notes=(*notes, *call.notes))


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
        stage = _Stage(
            base.image, base.state.copy(), dict(base.parts), base.pins, base.folder, list(base.notes)
        )
    if len(words) == 3 and words[1].lower() == "as":
        stages[words[2].lower()] = stage
    return stage


def _without_documents(text: str) -> tuple[str, dict[int, str]]:
    """The text with blank lines for here-documents, and those that a RUN has a shell run, by its line."""
    rows, scripts = text.split("\n"), {}
    at = 0
    while at < len(rows):
        found = _DOCUMENT.match(rows[at])
        at += 1
        if found is None:
            continue
        begin = at
        while at < len(rows) and rows[at].strip("\t" if found[2] else "") != found[3]:
            at += 1
        if found[1].upper() == "RUN" and _RUN_BY_A_SHELL.match(rows[begin - 1]):
            scripts[begin] = "\n".join(rows[begin:at])
            rows[begin - 1] = "RUN :"
        rows[begin : at + 1] = [""] * len(rows[begin : at + 1])
    return "\n".join(rows), scripts


def _installed(rest: str, stage: _Stage) -> tuple[Pin, ...]:
    """The stage's pins, and those of a RUN, whose text is followed only where it may install the engine."""
    if not MAY_INSTALL.search(rest):
        return stage.pins
    plain = re.sub(r"\A(?:--\w+=\S+\s+)+", "", rest)
    words = _words(plain)
    text = words[2].text if [word.text for word in words[:2]] == ["sh", "-c"] else ""
    try:
        commands = follow(text, stage.state.copy()).commands if text else [Command(tuple(words), {}, 0)]
    except UsageError:
        shown = guarded(" ".join(rest.split()))
        return (*stage.pins, Pin("", f"RUN {shown[:80]}"))
    pins = stage.pins
    for each in commands:
        pins = (*pins, *pins_of_command(each, stage.folder))
    return pins


def _assign(rest: str, state: State, *, exported: bool) -> list[str]:
    """Take the variables of ``ENV`` or ``ARG``, and name them. An ARG never hides an ENV."""
    names = []
    if not re.match(r"\S+=", rest) and exported:
        name, _, value = rest.partition(" ")
        rest = f"{name}={json.dumps(value.strip())}"
    for one in expand_all([token for token in Tokens(rest).read() if not token.operator], state):
        name, equals, value = one.text.partition("=")
        if equals and name.isidentifier() and (exported or name not in state.exported):
            state.variables[name] = Text(value, one.unknown)
            names.append(name)
            if exported:
                state.exported.add(name)
    return names


def _words(rest: str) -> list[Text]:
    try:
        words = json.loads(rest)
    except ValueError:
        words = None
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        return [Text(word) for word in words]
    return [Text("sh"), Text("-c"), Text(rest)]
