"""What holds launches in a form that is not read, and what only looks so from a here-document inside."""

from __future__ import annotations

import bisect
import re

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.shell_tokens import Tokens

_SHEBANG = re.compile(
    r"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+|[A-Za-z_]\w*=\S*[ \t]+)*)?(?:\S*/)?([^\s/]+)"
)
_SHELL = re.compile(r"(?:ba|da|z|k|a|mk)?sh")
_SHELL_NAME = re.compile(r".+\.(?:sh|bash|ksh|zsh|slurm|sbatch)")
_PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*|ipython[\d.]*")
_IMPORT = re.compile(r"^(?:import|from) \w+(?:\.\w+)*(?:(?: import| as|,) .+)?\r?$", re.M)
_OPENS = re.compile(r"(?<!<)<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_][\w.-]*))")
_OTHERS = (
    ("a supervisor configuration", re.compile(r"^\[(?:program:|supervisord\])", re.M)),
    (
        "an Ansible playbook",
        re.compile(r"^[ ]*-?[ ]*(?:hosts|tasks|ansible\.builtin\.\w+|community\.\w+\.\w+):", re.M),
    ),
    ("a Makefile", re.compile(r"^[A-Za-z0-9_.%/-]+[ ]*:(?!=)[^\n]*\n\t", re.M)),
    ("a page of Markdown", re.compile(r"^[ ]*```", re.M)),
    (
        "a Nomad or Terraform file",
        re.compile(r'^(?:job|resource|variable|module|provider) "[^"\n]+".*\{', re.M),
    ),
)
"""What holds commands and is none of the forms that are read: part of it would be lost unseen."""


def interpreter(text: str) -> str:
    """The program that the first line asks for (``#!/usr/bin/env bash``), empty where it asks for none."""
    found = _SHEBANG.match(text.removeprefix("\ufeff"))
    return found[1] if found else ""


def is_shell(text: str, shown: str = "") -> bool:
    """Whether its first line, or without one its name, makes it a script of a shell."""
    program = interpreter(text)
    return _SHELL.fullmatch(program or ("sh" if _SHELL_NAME.fullmatch(shown) else "")) is not None


def without_here_documents(text: str) -> str:
    """``text`` with nothing in the lines between ``<<EOF`` and ``EOF``: they belong to another file.

    One that is never closed is none, so that ``1 << shift`` and ``<<: *anchor`` take nothing away.
    """
    if "<<" not in text:
        return text
    rows = text.split("\n")
    marks: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        marks.setdefault(row.removesuffix("\r"), []).append(at)
        if row.startswith("\t"):
            marks.setdefault(f"\t{row.strip()}", []).append(at)
    at = 0
    while at < len(rows):
        row, at = rows[at], at + 1
        for found in _OPENS.finditer(row) if "<<" in row and not row.lstrip().startswith("#") else ():
            mark = found[2] or found[3] or found[4]
            ends = [_next(marks, mark, at)] + ([_next(marks, f"\t{mark}", at)] if found[1] else [])
            end = min((each for each in ends if each >= 0), default=-1)
            if end >= 0:
                rows[at:end] = [""] * (end - at)
                at = end + 1
    return "\n".join(rows)


def _next(marks: dict[str, list[int]], mark: str, at: int) -> int:
    """The first line with ``mark`` alone from ``at`` on, -1 where there is none."""
    lines = marks.get(mark, [])
    index = bisect.bisect_left(lines, at)
    return lines[index] if index < len(lines) else -1


def refuse_foreign(text: str, shown: str) -> None:
    """Raises UsageError for a text that mentions a server in a form of its own, which ``shown`` may name."""
    name = _foreign(text, shown)
    if name:
        raise UsageError(
            f"this looks like {name}, which is not read: variables and conditions of it would be lost; "
            "import the command that it runs, in quotes"
        )


def is_python(text: str, shown: str) -> bool:
    """Whether the text is a Python program, which may start an engine without any command of a server."""
    return _says_python(text, shown) or (not is_shell(text, shown) and _imports(text))


def _says_python(text: str, shown: str) -> bool:
    """Whether the first line, or the name without one, says that it is a Python program."""
    program = interpreter(text)
    return bool(_PYTHON.fullmatch(program) or (not program and shown.endswith((".py", ".pyw"))))


def _foreign(text: str, shown: str) -> str:
    if _says_python(text, shown):
        return "a Python program"
    if is_shell(text, shown):
        return ""
    own = without_here_documents(text)
    for name, pattern in _OTHERS:
        if pattern.search(own):
            return name
    return "a Python program" if _imports(text) else ""


def _imports(text: str) -> bool:
    """Whether a line begins with an import and is not the inside of something that a shell quotes."""
    lines = {text.count("\n", 0, found.start()) + 1 for found in _IMPORT.finditer(text)}
    if not lines:
        return False
    try:
        return any(token.line in lines for token in Tokens(text).read() if not token.operator)
    except UsageError:  # a quote that no shell would close: nothing is the inside of one
        return True
