"""The environment of a launch in the dialect of ``docker run --env-file``, its command as a comment.

The dialect (docker/cli, opts/file.go): one NAME=VALUE per line, taken literally up to the end of the line; a
line that begins with # is a comment; NAME alone hands on the caller's variable. No quotes, no escapes.
"""

from __future__ import annotations

import shlex

from eaglecfg.errors import UsageError
from eaglecfg.review.render.header import header
from eaglecfg.review.render.launch import Launch
from eaglecfg.review.render.shell import options

COMMAND = "# command:"
LONGEST_LINE = 65_000
"""Bytes. Docker's reader stops at a line of 65,536."""

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def render(launch: Launch) -> str:
    """The file. Raises UsageError, with the variable, for a value that a line cannot carry."""
    command = [" ".join(map(_quoted, launch.program)), *options(launch, _quoted)]
    told = {variable.name for variable in launch.variables}
    lines = [
        *header(launch),
        "# For docker run --env-file: a value is literal to the end of its line, a name alone is handed on.",
        COMMAND,
        *(f"#   {line}" for line in " \\\n  ".join(command).split("\n")),
        *(name for name in launch.handed if name not in told),
    ]
    for variable in launch.variables:
        line = variable.name
        if variable.text is not None:
            _check(launch.name, variable.name, variable.text)
            line += f"={variable.text}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _check(deployment: str, name: str, text: str) -> None:
    if "\n" in text or text.endswith("\r"):
        fault = "holds a line break"
    elif len(text.encode()) > LONGEST_LINE:
        fault = f"is longer than {LONGEST_LINE:,} bytes"
    else:
        return
    raise UsageError(
        f"deployment {deployment}: the value of {name} {fault}, which an env file cannot carry; "
        "render --as shell, compose or kubernetes instead"
    )


def _quoted(text: str) -> str:
    """``text`` as a shell word of one line."""
    if all(letter.isprintable() for letter in text):
        return shlex.quote(text)
    return "$'" + "".join(_ESCAPES.get(letter) or _letter(letter) for letter in text) + "'"


def _letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
