"""Env files that eaglecfg wrote: the variables, and the command that stands in them as a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.record import replace
from eaglecfg.review.imports.calls import Call, calls_of_command
from eaglecfg.review.imports.shell_script import follow
from eaglecfg.review.imports.text import Text, not_known
from eaglecfg.review.render.env_file import COMMAND


def calls_of_env_file(text: str) -> Iterator[Call]:
    """The launch in an env file."""
    lines = text.split("\n")
    at = next(index for index, line in enumerate(lines) if line.rstrip() == COMMAND)
    script = []
    for line in lines[at + 1 :]:
        if not re.match(r"# ", line):
            break
        script.append(line[2:])
    environment = {}
    for line in lines:
        line = line.removesuffix("\r").lstrip()
        if line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            environment[name] = Text(value) if equals else not_known(name)
    for command in follow("\n".join(script), line=at + 2).commands:
        yield from calls_of_command(replace(command, environment=environment))
